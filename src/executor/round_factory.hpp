#pragma once
// RoundFactory: how the rounds of a codec are run: by which algorithm, cut into which pieces.

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"
#include "executor/chunking.hpp"
#include "executor/messenger.hpp"
#include "executor/round_run.hpp"
#include "executor/slice_crew.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace cohom {

/// This rank among the others.
struct RankPosition {
  int rank = 0;
  int ranks = 1;
  std::span<const std::uint32_t> nodes = {};     ///< AlgorithmInput's
  std::span<const std::uint32_t> switches = {};  ///< likewise
};

/// Everything an executor is made of. What is pointed at outlives it.
struct ExecutorSetup {
  RankPosition place;
  std::size_t elements = 0;
  ElementType type = ElementType::f32;
  Codec* codec = nullptr;
  const kernels::KernelTable* kernels = nullptr;  ///< the processor's
  /// Where elements and the payload's words lie; the words of all other rounds are the host's.
  Memory* memory = &host_memory();
  /// Takes memory of the host for words; empty, or null: the executor takes its own.
  std::function<std::unique_ptr<MessageMemory>(std::size_t bytes)> take_memory = {};
  const kernels::KernelTable* memory_kernels = nullptr;  ///< of `memory`; null: `kernels` are
  const AlgorithmRow* algorithm = nullptr;
  ReductionKind collective = ReductionKind::allreduce;  ///< else the algorithm has `chunk_of_rank`
  int root = 0;                                         ///< of a reduce
  Aggregator* aggregator = nullptr;
  std::size_t segment = 0;  ///< elements
  std::size_t message_bytes = 0;
  Tuning tuning;
  /// Run slices of a codec that was made for so many; null: the calling thread runs all.
  WorkerPool* workers = nullptr;
};

class RoundFactory {
 public:
  /// `crew`: the executor's; it outlives this.
  RoundFactory(const ExecutorSetup& setup, SliceCrew& crew) : setup_(setup), crew_(crew) {}

  [[nodiscard]] const ExecutorSetup& setup() const { return setup_; }
  [[nodiscard]] std::size_t rounds() const { return setup_.codec->rounds().size(); }
  [[nodiscard]] std::size_t payload() const { return setup_.codec->payload_round(); }
  [[nodiscard]] Round& round(std::size_t number) const { return *setup_.codec->rounds()[number]; }
  [[nodiscard]] const RoundTraits& traits(std::size_t number) const {
    return round(number).traits();
  }
  /// Whether the round's words lie where the elements do, which is not the host.
  [[nodiscard]] bool lies_apart(std::size_t number) const {
    return number == payload() && !setup_.memory->is_host();
  }

  /// For a vector of so many elements.
  /// @throws Error(unsupported) when no aggregator can merge what the codec sends.
  [[nodiscard]] Chunking make_chunking(std::size_t number, std::size_t elements) const;
  /// `chunking` outlives it.
  [[nodiscard]] std::unique_ptr<RoundRun> make(std::size_t number, const Chunking& chunking) const;

 private:
  [[nodiscard]] const AlgorithmRow& algorithm_of(std::size_t number, std::size_t elements) const;
  /// Of the payload the plan's; what ranks agree on, and what it does not hold, goes to all.
  [[nodiscard]] ReductionKind collective_of(std::size_t number) const {
    return number == payload() ? setup_.collective : ReductionKind::allreduce;
  }
  /// Whether contributions are disjoint, and all ranks get the sum.
  [[nodiscard]] bool gathers_disjoint(std::size_t number) const {
    return traits(number).disjoint() && collective_of(number) == ReductionKind::allreduce;
  }
  [[nodiscard]] bool is_many_short(std::size_t elements) const;
  [[nodiscard]] bool offloads(const RoundTraits& traits) const;

  ExecutorSetup setup_;
  SliceCrew& crew_;
};

}  // namespace cohom
