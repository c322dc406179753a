// The histogram of mini-blocks' largest magnitudes. A block of threads looks at a long stretch,
// round by round, and adds up in shared memory; then what it found is added to everybody's.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/device/packed_rows.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

template <class T>
struct MeasureMinis {
  using Real = Arithmetic<T>;
  using Bits = typename body::FloatFormat<Real>::Bits;
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr std::size_t all_bins = body::PackedBins<Real>::count;
  static constexpr unsigned mini_threads = 8;  ///< with four elements each
  static constexpr unsigned own_elements = packed_mini / mini_threads;
  static constexpr std::size_t round_elements = std::size_t{threads} * own_elements;
  static constexpr int rounds = 32;
  static constexpr std::size_t tile_elements = round_elements * rounds;
  using Local = Nothing;
  struct Shared {
    Bits maxima[threads];
    std::uint32_t bins[all_bins];
  };

  std::size_t tiles;
  std::size_t count;
  const T* input;
  Real* feedback;
  std::uint32_t* found;

  [[nodiscard]] COHOM_HD int phase_count() const { return 2 + 2 * rounds; }

  COHOM_HD void run(int phase, At at, Shared& shared, Local&) const {
    if (phase == 0) {
      for (std::size_t b = at.thread; b < all_bins; b += threads) shared.bins[b] = 0;
      return;
    }
    if (phase == phase_count() - 1) {
      for (std::size_t b = at.thread; b < all_bins; b += threads)
        if (shared.bins[b] != 0) atomic_add(found + b, shared.bins[b]);
      return;
    }
    const std::size_t first = at.tile * tile_elements + std::size_t(phase - 1) / 2 * round_elements;
    if (phase % 2 != 0)
      shared.maxima[at.thread] = largest_of(first + at.thread * own_elements);
    else if (at.thread < threads / mini_threads && first + at.thread * packed_mini < count)
      add(shared, at.thread);
  }

  [[nodiscard]] COHOM_HD Bits largest_of(std::size_t first) const {
    Bits largest = 0;
    COHOM_UNROLL
    for (unsigned i = 0; i < own_elements; ++i) {
      if (first + i >= count) continue;
      Real value = load_element<T>(input, first + i);
      if (feedback != nullptr) feedback[first + i] = value = host_sum(value, feedback[first + i]);
      largest = body::magnitude_bits(value) > largest ? body::magnitude_bits(value) : largest;
    }
    return largest;
  }

  COHOM_HD static void add(Shared& shared, unsigned mini) {
    Bits largest = 0;
    COHOM_UNROLL
    for (unsigned i = 0; i < mini_threads; ++i) {
      const Bits other = shared.maxima[mini * mini_threads + i];
      largest = other > largest ? other : largest;
    }
    if (largest < body::FloatFormat<Real>::infinity)
      atomic_add(&shared.bins[body::packed_bin(body::from_bits<Real>(largest))], 1u);
  }
};

}  // namespace

void measure_packed(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(input, size_of(run.type), "packed: elements");
  expect_aligned(feedback, feedback_bytes(run.type), "packed: feedback");
  body::with_element_type(run.type, [&]<class T>(T) {
    using Kernel = MeasureMinis<T>;
    auto* const found = static_cast<std::uint32_t*>(context.scratch(Kernel::all_bins * 4));
    context.runtime().fill(found, 0, Kernel::all_bins * 4, context.stream());
    launch(Kernel{.tiles = tiles_of(run.count, Kernel::tile_elements),
                  .count = run.count,
                  .input = view(static_cast<const T*>(input)),
                  .feedback = view(static_cast<Arithmetic<T>*>(feedback)),
                  .found = view(found)});
    std::vector<std::uint32_t> own(Kernel::all_bins);
    context.download(own.data(), found, Kernel::all_bins * 4);
    for (std::size_t b = 0; b < Kernel::all_bins; ++b) bins[b] += own[b];
  });
}

}  // namespace cohom::kernels::device
