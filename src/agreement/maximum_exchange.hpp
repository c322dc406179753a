#pragma once
// MaximumExchange: all ranks' AgreementWords, by recursive doubling (doubling_hops.hpp); and with
// them the sum of their vectors, if all of them have short ones. What of a vector has no room
// behind the words follows them at once; who gets words learns from them how much does, and takes
// it even where its own call is another one.

#include "agreement/agreement_words.hpp"
#include "agreement/call_channel.hpp"
#include "agreement/doubling_hops.hpp"

#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

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
  /// Whom it waits for, unless it is done.
  [[nodiscard]] int peer() const { return hops_[hop_].peer; }

 private:
  void start_hop();
  void read(const Completion& completion);
  void receive_rest();
  void merge_arrived();

  CallChannel& channel_;
  AgreementWords& words_;
  DoublingHops hops_;
  AgreementWords::Arrived arrived_;
  bool is_lent_ = false;  ///< what arrived lies at its sender
  bool awaits_rest_ = false;
  int hop_ = 0;
  std::unique_ptr<std::byte[]> unwanted_;  ///< room for what follows words of another call
  /// Not initialized: it is long.
  std::array<std::uint64_t, AgreementWords::max_bytes / 8> arriving_;
};

}  // namespace cohom
