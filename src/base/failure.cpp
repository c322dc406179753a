#include "base/failure.hpp"

#include <exception>
#include <new>

namespace cohom {

Error current_failure(const std::string& doing) {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::memory, "out of memory for " + doing);
  } catch (const std::exception& failure) {
    return Error(ErrorKind::state, doing + " failed: " + failure.what());
  }
}

}  // namespace cohom
