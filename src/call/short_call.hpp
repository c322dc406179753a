#pragma once
// A blocking call whose vector travels with the words by which ranks agree on it, on a communicator
// whose ranks have a board: made at once, without what other calls take.

#include "call/call_request.hpp"

#include <cstdint>

namespace cohom {

class CallOwner;

/// Makes the call, where it is such a one and all ranks' words come within microseconds. False:
/// the call is to be made in the usual way, by this thread, with the same number. Its words may be
/// on the board; what fails on this rank from then on the others do not learn of. No MPI is called.
/// With the lock of the communicator.
bool made_short(CallOwner& owner, const CallRequest& request, std::uint64_t number) noexcept;

}  // namespace cohom
