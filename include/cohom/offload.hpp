#pragma once
// Aggregator: sums sections somewhere in the network (or below the MPI library).

#include <cohom/merge.hpp>
#include <cohom/transport.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cohom {

/// The reductions of one round of one call. Every rank starts the same reductions in the same order.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// Starts reducing `words` in place over all ranks; they must stay untouched until the completion.
  /// @throws Error(unsupported) for a merge that supports() denies, Error(transport) of the network.
  virtual void start(std::span<std::uint64_t> words, Merge merge, std::uint64_t cookie) = 0;
  /// Makes progress and reports at most `out.size()` finished reductions, whose words are then the
  /// sums. Throws Error(transport) when one failed.
  virtual std::size_t poll(std::span<Completion> out) = 0;
};

class Aggregator {
 public:
  virtual ~Aggregator() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool supports(Merge merge) const = 0;
  /// Opens the reductions of round `round` of call number `call` (counted alike on all ranks);
  /// `reductions` is how many will be started.
  virtual std::unique_ptr<Reduction> open(std::uint64_t call, int round,
                                          std::size_t reductions) = 0;
};

}  // namespace cohom
