// What stands for munge in builds without libmunge.

#include "aggregation/auth/munge.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::unsupported,
              "this build of cohom has no libmunge; build it where libmunge-dev is installed");
}

}  // namespace

bool has_munge() { return false; }
std::string make_credential(std::string_view) { refuse(); }
uid_t user_of_credential(const std::string&, std::string_view) { refuse(); }

}  // namespace cohom::offload
