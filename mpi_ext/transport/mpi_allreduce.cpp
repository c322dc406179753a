#include "mpi_ext/transport/mpi_allreduce.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/transport/open_requests.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <array>

namespace cohom::mpi {

namespace {

/// MPI counts in int.
constexpr std::size_t max_elements = std::size_t{1} << 30;

MPI_Datatype datatype_of(ElementType type) {
  return type == ElementType::f64 ? MPI_DOUBLE : MPI_FLOAT;
}

/// Calls `sum(from, to, elements)` for the parts of a vector that MPI can count.
template <class Sum>
void for_parts(const void* input, void* output, std::size_t count, ElementType type, Sum sum) {
  const auto* from = static_cast<const std::byte*>(input);
  auto* to = static_cast<std::byte*>(output);
  while (count != 0) {
    const std::size_t part = std::min(count, max_elements);
    sum(from == to ? MPI_IN_PLACE : static_cast<const void*>(from), to, static_cast<int>(part));
    from += part * size_of(type);
    to += part * size_of(type);
    count -= part;
  }
}

class MpiSum final : public NativeSum {
 public:
  MpiSum() = default;
  MpiSum(const MpiSum&) = delete;
  MpiSum& operator=(const MpiSum&) = delete;
  ~MpiSum() override { requests_.drain(); }

  void add(const void* from, void* to, int count, MPI_Datatype datatype, MPI_Comm comm) {
    requests_.reserve();
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(from, to, count, datatype, MPI_SUM, comm, &request), "MPI_Iallreduce");
    requests_.add(request, {}, false);
  }

  [[nodiscard]] bool test() override {
    const MpiUse use;
    std::array<Completion, 8> done;
    while (requests_.poll(done) == done.size()) continue;
    return requests_.empty();
  }
  bool give_up() noexcept override { return requests_.advance(); }

 private:
  OpenRequests requests_;
};

}  // namespace

bool MpiAllreduce::adds(ElementType type) const {
  return type == ElementType::f32 || type == ElementType::f64;
}

/// By PMPI's name: a drop-in library in front of MPI would compress the vector again.
void MpiAllreduce::add(const void* input, void* output, std::size_t count, ElementType type) {
  const MpiUse use;
  for_parts(input, output, count, type, [&](const void* from, void* to, int elements) {
    check(PMPI_Allreduce(from, to, elements, datatype_of(type), MPI_SUM, comm_.get()),
          "PMPI_Allreduce");
  });
}

std::unique_ptr<NativeSum> MpiAllreduce::start(const void* input, void* output, std::size_t count,
                                               ElementType type) {
  const MpiUse use;
  auto sum = std::make_unique<MpiSum>();
  for_parts(input, output, count, type, [&](const void* from, void* to, int elements) {
    sum->add(from, to, elements, datatype_of(type), comm_.get());
  });
  return sum;
}

}  // namespace cohom::mpi
