#pragma once
// Communicator: a group of ranks, the transport between them, and what the library keeps for them.

#include <cohom/cxx20.hpp>

#include <cohom/offload.hpp>
#include <cohom/profile.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class CommunicatorImpl;

/// Calls on one communicator are collective: all ranks make the same ones in the same order. One
/// thread at a time may use a communicator; different communicators are independent. Over MPI only
/// as far as MPI allows (MPI_Query_thread): with less than MPI_THREAD_MULTIPLE two threads at once
/// are an Error(unsupported), with less than MPI_THREAD_SERIALIZED any thread but the one that
/// initialized MPI. Calls advance only inside this library: in its functions that start, test, wait
/// or progress (which advance the calls that the thread started on all communicators). A rank that
/// goes into a blocking function of MPI meanwhile keeps the other ranks' calls waiting, unless they
/// have a thread of their own (Options::progress).
/// Plans must be destroyed before their communicator; requests may outlive it.
/// For MPI use cohom::mpi::communicator() of <cohom/mpi.hpp>.
class Communicator {
 public:
  explicit Communicator(std::shared_ptr<Transport> transport, Aggregators aggregators = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Waits for the calls in flight, so all ranks must do it.
  ~Communicator();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] const Transport& transport() const;
  /// Which ranks are near each other, and which cores this one has: as they were when the
  /// communicator was made. Local.
  [[nodiscard]] const Topology& topology() const;
  /// Bytes and messages this rank has sent so far, counted by the transport; and the bytes that
  /// were handed to aggregators in the network (which may send some again).
  [[nodiscard]] WireCounters wire_counters() const;
  /// What became of the calls that aggregators in the network were to sum.
  [[nodiscard]] OffloadCounters offload_counters() const;

  /// How many calls went by MPI's own reductions (Options::native, algorithm native); equal on all
  /// ranks once their calls are over.
  [[nodiscard]] std::uint64_t native_calls() const;
  /// How many calls went by PlanDescription::third_algorithm, of those without an error; equal on
  /// all ranks as native_calls().
  [[nodiscard]] std::uint64_t third_calls() const;
  /// How many calls went raw where a compressing codec was asked for (PlanDescription::bypass, or
  /// third_codec in turns of that way), of those without an error; equal on all ranks once calls
  /// that went well on all of them are over.
  [[nodiscard]] std::uint64_t bypassed_calls() const;

  /// Adds the time of all calls from now on to `profile`, which outlives them; null: to none, which
  /// costs nothing. Between calls only.
  void set_profile(Profile* profile);

  /// Advances all calls in flight without blocking; returns whether anything moved.
  bool progress();

  /// What a codec keeps for the named buffer (Options::buffer), to be put into a checkpoint. Waits
  /// for calls in flight with that buffer, but is otherwise local; so are the next two.
  /// @throws Error(invalid_argument) when no call has left a state under that name.
  [[nodiscard]] std::vector<std::byte> save_state(std::string_view buffer) const;
  /// Puts back what save_state gave. Call it on all ranks with their own bytes, between calls.
  /// @throws Error(invalid_argument) when `saved` is not what save_state returned; nothing changes.
  void restore_state(std::string_view buffer, std::span<const std::byte> saved);
  /// Forgets the named buffer's state; a name that was never used is not an error.
  void reset_state(std::string_view buffer);

  /// Internal.
  [[nodiscard]] CommunicatorImpl& impl() const { return *impl_; }

 private:
  std::shared_ptr<CommunicatorImpl> impl_;
};

}  // namespace cohom
