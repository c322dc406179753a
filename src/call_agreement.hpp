#pragma once
// CallAgreement: before anything else is sent, all ranks find out whether they make the same call
// and whether each of them can.
//
// A fixed-size maximum over {error, value, ~value of every field} by dissemination: ceil(log2 n)
// messages of a few hundred bytes, whatever went wrong on whichever rank. With it travels whether
// every rank could offload the call. Because the maximum of
// ~value is the complement of the minimum, a field differs exactly when the two disagree.

#include <cohom/error.hpp>
#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// One thing that must be equal on all ranks.
struct SignatureField {
  std::string_view name;
  std::uint64_t value = 0;          ///< the number, or a hash of the text
  std::optional<std::string> text;  ///< for messages; none: the number speaks for itself
};

/// What one rank is about to do. Kinds of call may differ in their fields, but never in the first,
/// which says the kind.
class CallSignature {
 public:
  static constexpr std::size_t field_limit = 12;

  void number(std::string_view name, std::uint64_t value);
  void text(std::string_view name, std::string value);
  [[nodiscard]] std::span<const SignatureField> fields() const {
    return std::span(fields_).first(count_);
  }

 private:
  void add(SignatureField field);

  std::array<SignatureField, field_limit> fields_;
  std::size_t count_ = 0;
};

/// Whether a rank could offload the call. The numbers travel (docs/wire-format.md); a greater one is heard first.
enum class Offloads : std::uint64_t { yes, waits_for_others, no };

class CallAgreement {
 public:
  /// `error`: this rank cannot make the call. Starts the exchange; the channel outlives it.
  CallAgreement(Channel& channel, int rank, int ranks, CallSignature signature,
                std::optional<Error> error, Offloads offloads = Offloads::no);

  /// Takes one completion whose cookie is one of ours.
  void complete(const Completion& completion);
  [[nodiscard]] static bool owns(std::uint64_t cookie) { return (cookie >> 56) == cookie_round; }

  [[nodiscard]] bool finished() const { return state_ == State::finished && pending_ == 0; }
  /// The error that all ranks have in common, once finished.
  [[nodiscard]] const std::optional<Error>& error() const { return result_; }
  /// The lowest rank that cannot offload the call, of those that do not just wait for others if there is
  /// one; once finished. None: all can.
  [[nodiscard]] std::optional<int> unready_rank() const;

 private:
  enum class State { maximum, message, finished };
  static constexpr std::uint64_t cookie_round = 0xff;
  static constexpr std::uint32_t tag = Transport::tag_limit - 64;  // one tag a hop
  static constexpr std::size_t message_bytes = 1024;

  void next_hop();
  void merge_arrived();
  void evaluate();
  void exchange_message(int telling_rank, const std::string& prefix);
  [[nodiscard]] bool ranks_differ(std::size_t field) const;
  [[nodiscard]] Error mismatch() const;

  Channel& channel_;
  int rank_, ranks_;
  CallSignature signature_;
  std::optional<Error> own_error_, result_;
  State state_ = State::maximum;
  /// {error, not offloading, (value, ~value) of every field}. Without fields, zeros.
  static constexpr std::size_t first_field = 2;
  using Table = std::array<std::uint64_t, first_field + 2 * CallSignature::field_limit>;
  Table maximum_{}, arriving_{}, leaving_{};
  std::array<std::byte, message_bytes> message_{};
  int distance_ = 1;
  std::uint32_t hop_ = 0;
  std::size_t pending_ = 0;  ///< requests under way
};

}  // namespace cohom
