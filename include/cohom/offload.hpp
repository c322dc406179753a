#pragma once
// Aggregator: sums sections somewhere in the network (or below the MPI library).

#include <cohom/cxx20.hpp>

#include <cohom/merge.hpp>
#include <cohom/native_sums.hpp>
#include <cohom/promotion.hpp>
#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// The reductions of one round of one call. Every rank starts the same reductions in the same
/// order, though not at the same time. Used by one thread at a time. No function blocks, the
/// destructor of an aggregator that may fail included: it gives up what is under way, and the
/// memory is free.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// The call ends early on this rank, and others may start what this one does not: of an
  /// aggregator that does not fail, no later reduction of the round can be right. @returns whether
  /// the memory is free. If not, the destructor waits for other ranks. After this it is only
  /// asked again, and destroyed. Of an aggregator that does not fail it must be implemented.
  virtual bool give_up() noexcept { return true; }
  /// Starts summing `contribution` over all ranks into `sum`, which has as many words and is the
  /// same memory or disjoint. Both stay untouched by the caller until the completion; a
  /// contribution in memory of its own is never changed. A network that is out of order says so in
  /// poll(), not here.
  virtual void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum,
                     Merge merge, std::uint64_t cookie) = 0;
  /// The same for a contribution in narrow form; `sum` is wide. Of aggregators that take it
  /// (Aggregator::takes_narrow()); `promotion` stays as it is until the completion.
  virtual void start_narrow(std::span<const std::uint64_t> contribution,
                            std::span<std::uint64_t> sum, Merge merge, const Promotion& promotion,
                            std::uint64_t cookie);
  /// Makes progress and reports at most `out.size()` finished reductions, whose sums are then
  /// there.
  /// @throws Error(transport) when the network's sum failed or timed out on this rank; after that
  /// the reduction is only destroyed.
  virtual std::size_t poll(std::span<Completion> out) = 0;
};

class Aggregator {
 public:
  virtual ~Aggregator() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Who sums, and how, in words for the log.
  [[nodiscard]] virtual std::string describe() const { return std::string(name()); }

  // Capabilities. Those of an aggregator that may fail are asked for anew before each call, after
  // ready() was true: another one may have taken its place.

  /// Whether it merges so. One that may fail has all of add, bit_or and max.
  [[nodiscard]] virtual bool supports(Merge merge) const = 0;
  /// Words of the longest reduction it takes.
  [[nodiscard]] virtual std::size_t max_words() const { return most_words(); }
  /// Whether contributions may be narrow, and are promoted there so. Alike on all ranks that are
  /// ready.
  [[nodiscard]] virtual bool takes_narrow(const Promotion& /*promotion*/) const { return false; }

  /// Whether this rank could offload a call now. Local, cheap, never blocks; it may go on with
  /// connecting, a bounded effort each time. Ranks agree on all being ready before each call.
  [[nodiscard]] virtual bool ready() = 0;
  /// Why ready() was false, for the log: "no resources", "lock failed (retry)", "wrong token", ...
  [[nodiscard]] virtual std::string why_not_ready() const { return "not ready"; }
  /// Whether it is other ranks that this one waits for, so that one of them knows better why.
  [[nodiscard]] virtual bool waits_for_others() const { return false; }
  /// False for the MPI library, whose errors end the call as all of MPI's do. True for a network
  /// that may refuse, die or lose its place: then calls keep their contributions, and what it
  /// failed to sum is summed from rank to rank.
  [[nodiscard]] virtual bool may_fail() const = 0;

  /// Starts to make what reductions need that is too dear to have for nothing. Called before the
  /// ranks agree on a call that goes there. Never blocks. @throws Error(transport), of which all
  /// ranks learn
  virtual void start_preparing() {}
  /// Whether it is made. Called on all ranks, once they have agreed on the call and before its
  /// first reduction starts, until it is true. Never blocks. @throws Error(transport), of which the
  /// other ranks learn in the next call
  [[nodiscard]] virtual bool prepare() { return true; }

  /// Opens the reductions of round `round` of call number `call` (counted alike on all ranks;
  /// together they are unique in the communicator); `reductions` is how many will be started,
  /// unless the call ends early. Calls are opened in the order of their numbers on all ranks: of an
  /// aggregator that may fail those that all ranks agreed to offload, else all calls at their
  /// start.
  virtual std::unique_ptr<Reduction> open(std::uint64_t call, int round,
                                          std::size_t reductions) = 0;

 private:
  /// The old name of max_words(): classes that override it still may.
  [[nodiscard]] virtual std::size_t most_words() const {
    return std::numeric_limits<std::size_t>::max();
  }
};

/// Calls of a communicator that were to go to aggregators in the network; equal on all ranks.
struct OffloadCounters {
  std::uint64_t offloaded = 0;  ///< went there
  std::uint64_t repeated = 0;   ///< of these: it failed, and the ranks summed themselves
  std::uint64_t declined =
      0;  ///< went by another algorithm: not ready, or not supported, on some rank
  std::uint64_t bytes = 0;  ///< of this rank's contributions that were handed to aggregators

  friend OffloadCounters operator-(OffloadCounters a, const OffloadCounters& b) {
    return {a.offloaded - b.offloaded, a.repeated - b.repeated, a.declined - b.declined,
            a.bytes - b.bytes};
  }
};

/// Makes this rank's end of the aggregator at an address. Called on all ranks in the same call, the
/// first one that names the address. @throws Error(invalid_argument) for what is no address.
using ConnectAggregator = std::function<std::shared_ptr<Aggregator>(const std::string& address)>;

/// 32 random bytes that the ranks of one communicator share and nobody else has. Who has them may
/// take the communicator's seats at an aggregator.
using JobSecret = std::array<std::byte, 32>;

/// A new one, from the system's random numbers. Local: one rank draws it and gives it to the
/// others.
/// @throws Error(transport) when the system has none.
JobSecret random_job_secret();

/// Connects to programs cohom-aggregator --ebpf, by their HOST:PORT (to daemons as well:
/// cohom::ucx::aggregator_connector() of <cohom/ucx.hpp>). `job` is alike on all ranks. The secret
/// that aggregators want of everybody is in COHOM_AGGREGATOR_TOKEN; without it connecting is an
/// Error(invalid_argument), and in builds without libsodium an Error(unsupported). Each connection
/// has a thread, which sleeps while all is well and connects again when the aggregator was away.
/// The first connection to an address is waited for, but not longer than a second.
ConnectAggregator aggregator_connector(const JobSecret& job, int rank, int ranks);

/// Who sums for the ranks of a communicator, besides themselves.
struct Aggregators {
  /// For algorithm=fabric; one that does not fail. Null: there is none.
  std::shared_ptr<Aggregator> fabric = nullptr;
  /// For algorithm=offload, and `auto`, of calls that name no address. Null: there is none.
  std::shared_ptr<Aggregator> attached = nullptr;
  /// For calls that name an address. Empty: that is an error.
  ConnectAggregator connect = {};
  /// For algorithm=native, which compresses nothing. Null: there is none.
  std::shared_ptr<NativeSums> native = nullptr;
};

}  // namespace cohom
