#pragma once
// Plans: everything decided and allocated for one repeated allreduce, reduce_scatter, reduce or
// allgather.

#include <cohom/cxx20.hpp>

#include <cohom/communicator.hpp>
#include <cohom/device_stream.hpp>
#include <cohom/element_type.hpp>
#include <cohom/error.hpp>
#include <cohom/options.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom {

class PlanImpl;

/// What a plan decided; for logs and benchmarks.
struct PlanDescription {
  std::string codec;            ///< full spec of the codec that runs, e.g. "thc:bits=4"
  std::string algorithm;        ///< e.g. "ring"
  std::string other_algorithm;  ///< of calls that cannot be offloaded; empty: of none
  std::string third_algorithm;  ///< of calls that go the third way of a race; empty: of none
  std::string third_codec;      ///< of these: the one that was asked for, or "raw"
  std::string reason;           ///< which row of the selection table chose it, and why
  std::string not_offloaded;    ///< why `auto` leaves out the aggregator that there is; or empty
  bool bypass = false;          ///< a compressing codec was asked for, and the vector goes raw
  std::size_t segment = 0;      ///< elements
  std::string memory = {};      ///< whose kernels do the work: "host" or "cuda"
  /// How words travel: "host"; of a device's buffers "staged" through the host's memory, or what
  /// the transport calls its way, e.g. "cuda_ipc"; "copied": the vectors are, and the host does the
  /// work.
  std::string path = {};
  /// For words on their way, of all rounds but fallback rounds, and copies of a reduce_scatter's
  /// or reduce's vectors, but for those of calls in place.
  std::size_t workspace_bytes = 0;
  std::size_t state_bytes = 0;       ///< what the codec remembers between calls
  std::size_t agreement_rounds = 0;  ///< of the codec, before its payload
};

/// What all plans have in common. Creating one is collective and blocks until all ranks agree; so
/// are prepare(), start() and execute() collective, and all other functions local. A plan has one
/// call in flight at a time; several plans of a communicator may be in flight together. A plan that
/// was moved from can only be destroyed or assigned to; one of a class below may be moved into a
/// Plan. Errors: see allreduce().
class Plan {
 public:
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  /// Waits for a call in flight. The communicator must still exist.
  ~Plan();

  /// Takes all that calls need whose buffers lie where these do, and are equal or not as these are:
  /// memory, streams and kernels of a device. No element is read or written. For this the driver
  /// waits for what the device has to do, so that no start() behind a stream has to. Collective;
  /// blocks until all ranks have it.
  /// @throws Error on all ranks alike: what wait() throws of such buffers; state, when a call of
  /// this plan is in flight on any rank.
  void prepare(const void* input, void* output);

  /// Starts: `output` := what this rank gets of the sum or mean over ranks of `input`, or of all
  /// inputs. The plan's class says how many elements each has. They must be equal (in place; of an
  /// allgather the input is this rank's part of the output) or not overlap, and stay untouched
  /// until wait() or a true test().
  /// Does not block (but for what allreduce_start() says). Errors of the arguments are
  /// thrown by test() or wait(), on all ranks.
  /// @throws Error(state) when a call of this plan is in flight; the other ranks get it from the
  /// call they start.
  void start(const void* input, void* output);
  /// The same on a device's buffers in the order of a stream: see allreduce_async(). Buffers may
  /// lie elsewhere in each call; memory for those of a device is taken by prepare(), else in the
  /// first call that has some, which then waits for what the device has to do.
  void start(const void* input, void* output, DeviceStream stream);
  /// start() on a rank that has an error of its own, e.g. from checking arguments of another
  /// language: takes part, so that all ranks get `error` where start() would report one.
  void start_with_error(const Error& error);
  /// Advances the call; true when it is complete (or none is in flight). Does not block.
  /// @throws Error, the call's, on all ranks alike; the plan can be started again, unless the
  /// error is transport.
  bool test();
  /// Blocks until the call is complete, yielding the core while there is nothing to do.
  /// @throws what test() throws.
  void wait();
  /// start() and wait(). @throws what they throw.
  void execute(const void* input, void* output);

  /// What the codec remembers between calls and the number of calls, to be put into a checkpoint.
  /// This and the next two: @throws Error(state) while a call is in flight.
  [[nodiscard]] std::vector<std::byte> save_state() const;
  /// Puts back what save_state gave, on a plan of the same codec, count and type. Call it on all
  /// ranks with their own bytes. @throws Error(invalid_argument) for other bytes; nothing changes.
  void restore_state(std::span<const std::byte> saved);
  /// As after creation.
  void reset_state();

  [[nodiscard]] PlanDescription describe() const;

 protected:
  /// @throws Error on all ranks alike: invalid_argument, unsupported, or mismatch (ranks disagree).
  Plan(Communicator& communicator, ReductionKind collective, int root, std::size_t count,
       ElementType type, const Options& options);

 private:
  std::unique_ptr<PlanImpl> impl_;
};

/// Input and output have `count` elements on every rank.
class AllreducePlan : public Plan {
 public:
  /// @throws Error on all ranks alike: invalid_argument, unsupported, or mismatch (ranks disagree).
  AllreducePlan(Communicator& communicator, std::size_t count, ElementType type,
                const Options& options = {});
};

/// The input has as many parts of `count` elements as there are ranks, and the output of rank r is
/// the sum's part r: see reduce_scatter().
class ReduceScatterPlan : public Plan {
 public:
  /// @throws what AllreducePlan() throws
  ReduceScatterPlan(Communicator& communicator, std::size_t count, ElementType type,
                    const Options& options = {});
};

/// The input has `count` elements on every rank, the output on rank `root`, and none on others: see
/// reduce().
class ReducePlan : public Plan {
 public:
  /// @throws what AllreducePlan() throws; invalid_argument also for a root that is none of the
  /// ranks
  ReducePlan(Communicator& communicator, std::size_t count, ElementType type, int root,
             const Options& options = {});
};

/// The input has `count` elements on every rank, and the output a part of as many for each: see
/// allgather().
class AllgatherPlan : public Plan {
 public:
  /// @throws what AllreducePlan() throws, and for what allgather() does
  AllgatherPlan(Communicator& communicator, std::size_t count, ElementType type,
                const Options& options = {});
};

}  // namespace cohom
