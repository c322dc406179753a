#pragma once
// CallFailures: what calls of one communicator that failed mean for those behind them.

#include "call/kept_calls.hpp"

#include <cohom/error.hpp>
#include <cohom/transport.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cohom {

class CallFailures {
 public:
  /// `native_reductions`: null, or what shares the transport's fate.
  CallFailures(std::shared_ptr<Transport> transport, std::shared_ptr<Aggregator> native_reductions);

  /// The exception being handled, as current_failure(). After an error of a device that it does not
  /// recover from no call with its buffers can be made on this communicator any more.
  Error take(const std::string& doing);
  [[nodiscard]] const std::optional<Error>& of_device() const { return of_device_; }
  /// Transport::failure(), and the error of the call that is to blame.
  [[nodiscard]] std::optional<Error> of_transport() const;

  /// A call has given its channel back, or keeps it. `left`: this rank left it while others may
  /// still wait for this one in it, without a timeout, or messages or reductions of it go on. No
  /// later call can be made then: the others may never come to it, and those could meet it.
  void ended_with(const Error& error, bool left);
  /// Keeps transport and native reductions (KeptCalls). False: there is no memory.
  bool keep_transport() noexcept;
  /// The same, and keeps a call that ended while it goes_on().
  [[nodiscard]] bool keep(std::shared_ptr<EndedCall> call) noexcept;

 private:
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Aggregator> native_reductions_;
  std::optional<Error> of_device_;
  bool transport_is_kept_ = false;
  bool left_ = false;  ///< this rank did, some call
  /// What the first call said after which no other can be made.
  std::optional<std::string> broken_by_;
};

}  // namespace cohom
