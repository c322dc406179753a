#pragma once
// MaximumExchange: all ranks' AgreementWords, by recursive doubling (doubling_hops.hpp); and with
// them the sum of their vectors, if all of them have short ones. Who gets words learns from them
// how many sections of a vector follow, and takes them even where its own call is another one.

#include "agreement/agreement_words.hpp"
#include "agreement/call_channel.hpp"
#include "agreement/doubling_hops.hpp"

#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

class MaximumExchange {
 public:
  /// Both outlive it.
  MaximumExchange(CallChannel& channel, AgreementWords& words)
      : channel_(channel), words_(words), hops_(channel.rank(), channel.ranks()) {}

  /// Begins the exchange with the words of this rank; done() at once where it is alone.
  void begin();
  /// In place of begin(): tells what this rank has to all that it would exchange words with.
  void tell(const AgreementWords::Table& own);
  /// Takes a completion and goes on with the next hop once nothing is under way.
  /// @throws Error(transport) for words that were changed on their way
  void complete(const Completion& completion);

  /// Then the sum, if the words have one, is in the output, unless a rank failed or calls differ.
  [[nodiscard]] bool done() const { return hop_ == hops_.count(); }
  /// Whether a rank whose words came may have sent sections that no receive waits for: in a later
  /// call they would pass for other ones. (Words that nobody received are of another call there.)
  [[nodiscard]] bool is_owed_sections() const { return is_owed_sections_; }
  /// Whom it waits for, unless it is done.
  [[nodiscard]] int peer() const { return hops_[hop_].peer; }

 private:
  void start_hop();
  void take_words(const Completion& completion);
  /// Whether it takes the sections that the words announced, for its sum.
  [[nodiscard]] bool takes_arrived() const {
    return words_.sum() != nullptr && words_.sum()->bytes() == arrived_.bytes;
  }
  [[nodiscard]] std::span<std::byte> buffer() { return std::as_writable_bytes(std::span(buffer_)); }
  void receive_sections();
  void receive_unwanted();
  void take_section(const Completion& completion);
  void merge_arrived();

  CallChannel& channel_;
  AgreementWords& words_;
  DoublingHops hops_;
  AgreementWords::Arrived arrived_;
  bool is_lent_ = false;  ///< what arrived lies at its sender
  bool is_owed_sections_ = false;
  std::size_t sections_left_ = 0;  ///< to arrive, of this hop's vector
  int hop_ = 0;
  /// Words with a section, or a section that nobody wants. Not initialized: it is long.
  std::array<std::uint64_t, AgreementWords::max_bytes / 8> buffer_;
};

}  // namespace cohom
