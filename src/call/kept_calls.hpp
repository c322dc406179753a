#pragma once
// KeptCalls: what stays behind calls that ended early, until nothing can reach its memory any more.

#include <memory>
#include <mutex>
#include <vector>

namespace cohom {

class Aggregator;
class Transport;

/// A call that ended with an error on this rank.
class EndedCall {
 public:
  virtual ~EndedCall() = default;
  /// Whether messages or reductions of it go on all the same; asked for the first time, it gives
  /// them seconds to end.
  [[nodiscard]] virtual bool goes_on() noexcept = 0;
};

/// Of the process. From any thread.
class KeptCalls {
 public:
  static KeptCalls& instance();

  /// Keeps transport and native reductions until MPI_Finalize, so that nothing else gets what
  /// others still send to this communicator: MPI gives the number of one that is freed to the next.
  /// False: there is no memory.
  [[nodiscard]] bool keep(std::shared_ptr<Transport> transport,
                          std::shared_ptr<Aggregator> native_reductions) noexcept;
  /// Keeps a call that ended while it goes_on(). Likewise.
  [[nodiscard]] bool keep(std::shared_ptr<EndedCall> call) noexcept;
  /// Lets go of calls that go on no more.
  void release_calls() noexcept;
  /// The same, and of transports, if no call is left: in MPI_Finalize.
  void release_transports() noexcept;

 private:
  struct Path {
    std::shared_ptr<Transport> transport;
    std::shared_ptr<Aggregator> native_reductions;
  };

  std::mutex mutex_;
  std::vector<Path> paths_;
  std::vector<std::shared_ptr<EndedCall>> calls_;
};

}  // namespace cohom
