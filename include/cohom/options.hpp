#pragma once
// What a caller may choose about an allreduce.

#include <cohom/cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohom {

enum class ReduceOp : std::uint8_t { sum, mean };

constexpr std::string_view name_of(ReduceOp op) noexcept {
  return op == ReduceOp::sum ? "sum" : "mean";
}

/// Must be equal on all ranks. An empty string means: take the environment variable named beside
/// it, as it was when the communicator was made, or its default.
struct Options {
  /// `name` or `name:parameter=value,...`: "thc:bits=4" or "auto:nmse=1e-3". COHOM_CODEC, "thc".
  std::string codec = {};
  /// A name of cohom-info's list of algorithms, or "auto": the library's table decides, and sends
  /// vectors that are too small to gain uncompressed; calls that race (`native`) may correct it.
  /// COHOM_ALGORITHM, "auto".
  std::string algorithm = {};
  ReduceOp op = ReduceOp::sum;
  /// Elements of a segment (the pipelining unit), rounded up to whole blocks; 0: COHOM_SEGMENT, or
  /// what suits the transport. It never changes a result of an integer codec.
  std::size_t segment = 0;
  /// Name under which the communicator keeps what the codec remembers about this buffer between
  /// calls (error feedback). Needed by allreduce() exactly when the codec keeps state; a plan keeps
  /// its own and takes no name. Where `auto` sends the vector raw there is no state.
  std::string buffer = {};
  /// HOST:PORT of the aggregator that algorithm=offload takes, and `auto` where it is given. Which
  /// ones a communicator can reach is said where it is made. COHOM_AGGREGATOR; none.
  std::string aggregator = {};
  /// How messages travel, "mpi" or "ucx". COHOM_TRANSPORT, "mpi". A communicator has one, chosen
  /// when it is made (by the C API: in its first call). Calls need not name it; another one is an
  /// error.
  std::string transport = {};
  /// Seconds after which a call that makes no progress is an Error(transport) that names the rank
  /// and the round it waits for; 0: COHOM_TIMEOUT, or never. Time counts while the rank is in
  /// functions of this library. Local: ranks may have different ones. The communicator is then of
  /// no more use. What MPI and UCX cannot end goes on, in memory of this library that stays until
  /// it is over; the buffers are the caller's again.
  double timeout = 0;
  /// "on": behind each message of a call follows an XXH3-64 of its bytes; one that does not fit is
  /// an Error(transport) that names sender, round and offset. "off": messages are as long as ever.
  /// A device's words then travel through the host's memory. Not for algorithms that others sum for
  /// (fabric, offload). COHOM_CHECKSUM, "off".
  std::string checksum = {};
  /// Threads of this library that encode, merge and decode for the calling thread, which does so,
  /// too: "auto", one for each core that is this rank's alone, but one for the caller, at most 15;
  /// or a number from 0 to 255. Of codecs that cohom-info says it of, and of vectors in the host's
  /// memory. No result depends on it. Local: ranks may have different ones. COHOM_THREADS, "auto".
  std::string threads = {};
  /// "call": calls advance while their rank is in functions of this library. "thread": a thread of
  /// the library advances them besides, so that a rank which does something else, or blocks in MPI,
  /// keeps nobody waiting. Over MPI that needs MPI_THREAD_MULTIPLE; not for algorithm fabric.
  /// Local, as threads. COHOM_PROGRESS, "call".
  std::string progress = {};
  /// Whether calls of algorithm=auto may go by MPI's own reduction (algorithm native), or by
  /// another algorithm than the table's, where that is faster. "auto": calls of the blocking
  /// functions without a timeout take turns at first, then the fastest way goes on; results of one
  /// vector then differ in their last bits from call to call, or, of codecs that lose, by the
  /// codec's error. "never". "always": all calls that can. Not of codecs that keep state, buffers
  /// on a device, nor with checksums, progress=thread or an aggregator; nor of sums by codecs with
  /// a bound of errors, or of f16 and bf16. COHOM_NATIVE, "auto".
  std::string native = {};
};

/// Sets one option by its key, as in an MPI_Info: cohom_codec, cohom_algorithm, cohom_op ("sum" or
/// "mean"), cohom_segment, cohom_buffer, cohom_aggregator, cohom_transport, cohom_timeout,
/// cohom_checksum, cohom_threads, cohom_progress, cohom_native. What is named is checked where it
/// is used.
/// @throws Error(invalid_argument) for another key (naming the nearest one), or a cohom_op,
/// cohom_segment or cohom_timeout that is not one.
void set_option(Options& options, std::string_view key, std::string_view value);

}  // namespace cohom
