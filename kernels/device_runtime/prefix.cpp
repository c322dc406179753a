#include "kernels/device_runtime/prefix.hpp"

#include "kernels/device_runtime/launch.hpp"

namespace cohom::kernels::device {
namespace {

/// One block; every thread has a stretch of the array.
struct SumUp {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 4;
  using Shared = BlockPrefix<std::uint64_t>;
  using Local = Nothing;

  std::size_t tiles;
  std::uint64_t* counts;
  std::size_t count;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    const std::size_t stretch = tiles_of(count, threads);
    const std::size_t first = at.thread * stretch;
    const std::size_t end = first + stretch < count ? first + stretch : count;
    if constexpr (phase == 0) {
      std::uint64_t sum = 0;
      for (std::size_t i = first; i < end; ++i) sum += counts[i];
      shared.put(at.thread, sum);
    }
    if constexpr (phase == 1) shared.group(at.thread);
    if constexpr (phase == 2) shared.root(at.thread);
    if constexpr (phase == 3) {
      std::uint64_t sum = shared.get(at.thread);
      for (std::size_t i = first; i < end; ++i) {
        const std::uint64_t own = counts[i];
        counts[i] = sum;
        sum += own;
      }
      if (at.thread == 0) counts[count] = shared.all;
    }
  }
};

}  // namespace

void sum_up(std::uint64_t* counts, std::size_t count) {
  launch(SumUp{.tiles = 1, .counts = counts, .count = count});
}

}  // namespace cohom::kernels::device
