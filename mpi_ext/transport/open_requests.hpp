#pragma once
// OpenRequests: MPI requests that are polled together.

#include "transport/completion_queue.hpp"

#include <cohom/transport.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::mpi {

/// The requests lie in one dense array, as MPI_Testsome wants them, in the order they were started.
/// The arrays grow to the most requests ever open and stay: a message allocates nothing.
class OpenRequests {
 public:
  OpenRequests();
  OpenRequests(const OpenRequests&) = delete;
  OpenRequests& operator=(const OpenRequests&) = delete;

  /// Called before a request is started, so that add() cannot fail and lose it.
  void reserve();
  /// `completion` is what poll() reports; of a receive, with the bytes that arrived.
  void add(MPI_Request request, Completion completion, bool receives) noexcept;

  /// Reports at most `out.size()` completions. @throws Error(transport) of a failed request, which
  /// is then gone; the others stay.
  std::size_t poll(std::span<Completion> out);

  /// Forgets what was not reported, and cancels the receives that met no message.
  void cancel_receives() noexcept;
  /// Leaves what is open to MPI (few MPIs can cancel a send). No receive is, unless MPI has ended.
  void abandon() noexcept;

  [[nodiscard]] bool empty() const { return requests_.empty(); }
  [[nodiscard]] bool has_receives() const noexcept;
  /// Completes what can be completed now; whether nothing is open any more, or MPI has ended.
  bool advance() noexcept;
  /// Completes all requests, however long it takes.
  void drain() noexcept;

 private:
  struct Entry {
    Completion completion;
    bool receives = false;
  };

  enum class Found : std::uint8_t { nothing, sends, receives };  ///< receives, and maybe sends
  /// Adds what is complete to what is ready.
  Found collect();
  void take(const MPI_Status& status, Entry& entry, int& error);
  void drop_finished(std::size_t first) noexcept;

  std::vector<MPI_Request> requests_;
  std::vector<Entry> entries_;  ///< of the request with the same index
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  CompletionQueue ready_;
};

}  // namespace cohom::mpi
