// Elements from signs and from counts of signs.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sign/device/sign_blocks.hpp"
#include "kernels/sign/device/sign_rows.hpp"

namespace cohom::kernels::device {
namespace {

template <class T>
struct ExpandSigns {
  using Real = Arithmetic<T>;
  static constexpr unsigned threads = sign_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t count;
  const std::uint64_t* bits;
  const double* scales;
  std::uint32_t ranks;
  std::uint64_t divisor;
  Real* state;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const SignBlockPlace block =
        sign_block_at(at.tile * sign_blocks_of_tile + at.thread / sign_columns, count);
    const unsigned word = at.thread % sign_columns;
    if (block.count == 0 || word >= block.words(1)) return;
    const double scale = scales[block.number];
    if (!(scale >= 0)) return;
    T* const to = output + block.first;
    if (!(scale > 0)) {
      for_each_of_word(block, word, [&](unsigned, unsigned e) { put_element<T>(to, e, 0); });
      return;
    }
    const Real value = body::sign_value<Real>(scale, ranks, divisor);
    const T plus = body::from_arithmetic<T>(value), minus = body::from_arithmetic<T>(-value);
    const std::uint64_t signs = bits[block.words_before(1) + word];
    for_each_of_word(block, word, [&](unsigned bit, unsigned e) {
      to[e] = (signs >> bit & 1) != 0 ? plus : minus;
    });
    if (state == nullptr) return;
    const Real own = static_cast<Real>(scale);
    Real* const rest = state + block.first;
    for_each_of_word(block, word, [&](unsigned bit, unsigned e) {
      rest[e] = rest[e] - ((signs >> bit & 1) != 0 ? own : -own);
    });
  }
};

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
    const SignBlockPlace block = sign_block_at(i / whole, count);
    const auto word = static_cast<unsigned>(i % whole);
    const unsigned words = block.words(counts.width);
    if (block.count == 0 || word >= words) return;
    const double scale = scales[block.number];
    if (!(scale >= 0)) return;
    const std::uint64_t lanes = scale > 0 ? sum[block.words_before(counts.width) + word] : 0;
    unsigned shift = 0;
    for (unsigned e = word; e < block.count; e += words, shift += counts.width)
      put_element<T>(output, block.first + e, scale > 0 ? value(lanes >> shift, scale) : Real{0});
  }

  [[nodiscard]] COHOM_HD Real value(std::uint64_t lanes, double scale) const {
    const auto found = static_cast<std::int32_t>(lanes & body::lane_mask(counts.width));
    const std::int32_t votes = 2 * found - static_cast<std::int32_t>(counts.ranks);
    return divided(static_cast<Real>(votes) * static_cast<Real>(scale));
  }
};

}  // namespace

void expand_signs(const SignRun& run, const std::uint64_t* bits, const double* scales,
                  std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(bits, 8, "signs: words");
  expect_aligned(state, feedback_bytes(run.type), "signs: state");
  expect_aligned(output, size_of(run.type), "signs: the output");
  const std::size_t blocks = tiles_of(run.count, sign_block);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(ExpandSigns<T>{.tiles = tiles_of(blocks, sign_blocks_of_tile),
                          .count = run.count,
                          .bits = view(bits),
                          .scales = uploaded_scales(context, scales, blocks),
                          .ranks = ranks,
                          .divisor = divisor,
                          .state = view(static_cast<Arithmetic<T>*>(state)),
                          .output = view(static_cast<T*>(output))});
  });
}

void expand_sign_counts(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                        const double* scales, std::uint64_t divisor, void* output) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(sum, 8, "signs: a sum");
  expect_aligned(output, size_of(run.type), "signs: the output");
  const std::size_t blocks = tiles_of(run.count, sign_block);
  const std::size_t words = blocks * body::words_per_block(sign_block, counts.width);
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(ExpandCounts<T>{.tiles = tiles_of(words, ExpandCounts<T>::threads),
                           .count = run.count,
                           .counts = counts,
                           .sum = view(sum),
                           .scales = uploaded_scales(context, scales, blocks),
                           .divided = Divider<Arithmetic<T>>(divisor),
                           .output = view(static_cast<T*>(output))});
  });
}

}  // namespace cohom::kernels::device
