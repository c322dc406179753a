#pragma once
// CallSignature: what must be equal on all ranks before they make a call together.

#include <cohom/error.hpp>

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
  static constexpr std::size_t field_limit = 14;

  void number(std::string_view name, std::uint64_t value);
  /// `remark` follows the text in messages. Ranks may differ in it.
  void text(std::string_view name, std::string value, std::string_view remark = {});
  /// The number of that name, which is there, has another value.
  void set(std::string_view name, std::uint64_t value);
  /// What a difference is: the user's mismatch unless somebody says otherwise.
  void differs_by(ErrorKind kind, std::string_view cause) {
    kind_ = kind;
    cause_ = cause;
  }

  /// The last field, a number, has another value.
  void set_last(std::uint64_t value) { fields_[count_ - 1].value = value; }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::span<const SignatureField> fields() const {
    return std::span(fields_).first(count_);
  }
  [[nodiscard]] ErrorKind kind_of_difference() const { return kind_; }
  [[nodiscard]] std::string_view cause_of_difference() const { return cause_; }
  /// Of the values of all fields, in order.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  void add(SignatureField field);

  std::array<SignatureField, field_limit> fields_;
  std::size_t count_ = 0;
  ErrorKind kind_ = ErrorKind::mismatch;
  std::string_view cause_;
};

}  // namespace cohom
