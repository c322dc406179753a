// Elements from counts of signs.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sign/device/sign_positions.hpp"
#include "kernels/sign/device/sign_rows.hpp"

namespace cohom::kernels::device {
namespace {

/// A thread writes all elements of a word of lanes.
template <class T>
struct ExpandCounts {
  using Real = Arithmetic<T>;
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t count;
  SignCounts counts;
  const std::uint64_t* sum;
  const double* scales;
  Divider<Real> divided;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    const std::size_t whole = body::words_per_block(sign_block, counts.width);
    const SignBlockPosition block = sign_block_at(i / whole, count);
    const auto word = static_cast<unsigned>(i % whole);
    const unsigned words = block.words(counts.width);
    if (block.count == 0 || word >= words) return;
    const double scale = scales[block.number];
    if (!(scale >= 0)) return;
    const std::uint64_t lanes = scale > 0 ? sum[block.words_before(counts.width) + word] : 0;
    unsigned shift = 0;
    for (unsigned e = word; e < block.count; e += words, shift += counts.width)
      store_element<T>(output, block.first + e, scale > 0 ? value(lanes >> shift, scale) : Real{0});
  }

  [[nodiscard]] COHOM_HD Real value(std::uint64_t lanes, double scale) const {
    const auto found = static_cast<std::int32_t>(lanes & body::lane_mask(counts.width));
    const std::int32_t votes = 2 * found - static_cast<std::int32_t>(counts.ranks);
    return divided(static_cast<Real>(votes) * static_cast<Real>(scale));
  }
};

}  // namespace

void expand_sign_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                        const double* scales, std::uint64_t divisor, void* output) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(sum, 8, "signs: a sum");
  expect_aligned(output, size_of(run.type), "signs: the output");
  const std::size_t blocks = tiles_of(run.count, sign_block);
  const std::size_t words = blocks * body::words_per_block(sign_block, counts.width);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(ExpandCounts<T>{
        .tiles = tiles_of(words, ExpandCounts<T>::threads),
        .count = run.count,
        .counts = counts,
        .sum = view(sum),
        .scales = static_cast<const double*>(view(context.upload(scales, blocks * sizeof(double)))),
        .divided = Divider<Arithmetic<T>>(divisor),
        .output = view(static_cast<T*>(output))});
  });
}

}  // namespace cohom::kernels::device
