#include "call/call_request.hpp"

#include "call/call_failures.hpp"

namespace cohom {

void CallRequest::drop_given_up_plan(const CallFailures& failures) {
  if (!core || !core->given_up) return;
  if (!error) error = failures.of_transport();
  if (!error)
    error = Error(ErrorKind::transport,
                  "an earlier call of this plan ended early, and messages may still use "
                  "its memory; make a new communicator");
  core.reset();
}

}  // namespace cohom
