#include "launch.hpp"

#include "block_run.hpp"
#include "fault.hpp"
#include "settings.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>

namespace cohom::ptx {
namespace {

/// What a block may have without asking for more.
constexpr std::size_t max_shared = 48 << 10;

}  // namespace

std::vector<std::uint8_t> gather_parameters(const Kernel& kernel, void* const* arguments) {
  std::vector<std::uint8_t> bytes(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(bytes.data() + kernel.parameters[i].offset, arguments[i],
                kernel.parameters[i].bytes);
  return bytes;
}

void launch(Kernel& kernel, LaunchShape shape, std::span<const std::uint8_t> parameters) {
  static std::mutex mutex;
  static std::mt19937_64 random(Settings::instance().seed);
  static std::uint32_t launches = 0;
  const std::lock_guard lock(mutex);
  ++kernel.launches;
  if (shape.threads > kernel.max_threads) throw Fault("more threads than .maxntid");
  if (kernel.shared_bytes > max_shared) throw Fault("more shared memory than a block has");
  std::vector<unsigned> order(shape.blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::shuffle(order, random);
  Block block;
  block.kernel = &kernel;
  block.launch = ++launches;
  block.blocks = shape.blocks;
  block.threads = shape.threads;
  block.parameters = parameters.data();
  BlockRun run(block, random);
  for (const unsigned number : order) {
    ++kernel.blocks;
    run.run(number);
  }
}

}  // namespace cohom::ptx
