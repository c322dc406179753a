// UCX without MPI: one rank, which has nobody to exchange bytes with.
#include <cohom/allreduce.hpp>
#include <cohom/ucx.hpp>

#include <iostream>
#include <span>
#include <vector>

int main() {
  const auto alone = [](std::span<const std::byte> bytes) {
    return std::vector<std::vector<std::byte>>(1, {bytes.begin(), bytes.end()});
  };
  cohom::Communicator communicator(cohom::ucx::transport(0, 1, alone));
  std::vector<float> data(1000, 3.0f);
  cohom::allreduce(std::span(data), communicator, {.codec = "raw"});
  std::cout << communicator.transport().name() << " " << data[999] << "\n";
}
