#include <cohom/error.hpp>
#include <cohom/offload.hpp>

namespace cohom {

void Reduction::start_narrow(std::span<const std::uint64_t>, std::span<std::uint64_t>, Merge,
                             const Promotion&, std::uint64_t) {
  throw Error(ErrorKind::state, "this aggregator takes no narrow contributions");
}

}  // namespace cohom
