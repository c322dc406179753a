#pragma once
// MaximumExchange: the maximum, word by word, of what all ranks have, by recursive doubling
// (doubling_hops.hpp); and with it the sum of their vectors, if all of them have short ones.
//
// Ranks decide by these words what they do next, so each message carries a checksum: words that
// were changed on their way are an error, not another decision.

#include "agreement/call_channel.hpp"
#include "agreement/call_pace.hpp"
#include "agreement/doubling_hops.hpp"
#include "agreement/short_sum.hpp"

#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

class MaximumExchange {
 public:
  /// What travels (docs/wire-format.md). Of `elements` there is no maximum: it says what stands
  /// behind the table, and the ranks' pace.
  struct Table {
    std::uint64_t checksum = 0;
    std::uint64_t error = 0;
    std::uint64_t unready = 0;  ///< to offload
    std::uint64_t hash = 0;
    std::uint64_t complement = 0;
    std::uint64_t elements = 0;
  };

  explicit MaximumExchange(CallChannel& channel)
      : channel_(channel), hops_(channel.rank(), channel.ranks()) {}

  /// Begins the exchange with what this rank has; done() at once where it is alone. `sum`, which
  /// has begun and outlives the exchange, may be null.
  void begin(const Table& own, const CallPace& pace, ShortSum* sum);
  /// In place of begin(): tells what this rank has to all that it would exchange words with.
  void tell(const Table& own);
  /// Takes a completion and goes on with the next hop once nothing is under way.
  /// @throws Error(transport) for words that were changed on their way
  void complete(const Completion& completion);

  [[nodiscard]] bool done() const { return hop_ == hops_.count(); }
  [[nodiscard]] const Table& maximum() const { return maximum_; }
  [[nodiscard]] bool calls_differ() const { return maximum_.hash != ~maximum_.complement; }
  /// As far as this rank has heard.
  [[nodiscard]] bool all_make_this_call() const { return maximum_.error == 0 && !calls_differ(); }
  /// Once done: all ranks added their vectors, and the output has the result, unless a rank failed
  /// or the calls differ.
  [[nodiscard]] bool has_sum() const { return sum_ != nullptr; }
  /// Of all ranks, once done.
  [[nodiscard]] const CallPace& pace() const { return pace_; }
  /// Whom it waits for, unless it is done.
  [[nodiscard]] int peer() const { return hops_[hop_].peer; }

 private:
  void start_hop();
  void send(int peer);
  void read_table(const Completion& completion);
  void merge_arrived();

  CallChannel& channel_;
  DoublingHops hops_;
  Table maximum_, leaving_, arrived_;
  CallPace pace_;
  ShortSum* sum_ = nullptr;  ///< null, too, where some rank has none like it
  const std::byte* arrived_elements_ = nullptr;
  bool is_lent_ = false;  ///< what arrived lies at its sender
  int hop_ = 0;
  /// Not initialized: it is long.
  std::array<std::uint64_t, (sizeof(Table) + ShortSum::max_bytes) / 8> arriving_;
};

}  // namespace cohom
