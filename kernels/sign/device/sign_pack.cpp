// The signs of elements, a word by every thread.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sign/device/sign_blocks.hpp"
#include "kernels/sign/device/sign_rows.hpp"

namespace cohom::kernels::device {
namespace {

/// body::is_plus of an element, without making a number of it where it is none the device knows.
template <class T, bool zeros_are_plus>
COHOM_HD inline bool has_plus(T element) {
  if constexpr (sizeof(T) == 2) {
    constexpr std::uint32_t infinity = std::is_same_v<T, float16> ? 0x7c00 : 0x7f80;
    const std::uint32_t bits = element.bits;
    return zeros_are_plus ? bits <= infinity || bits == 0x8000 : bits - 1 < infinity;
  } else {
    return body::is_plus(element, zeros_are_plus);
  }
}

template <class T>
struct PackSigns {
  static constexpr unsigned threads = sign_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t count;
  const T* values;
  T* rest;  ///< null, or `values`, which lose what their signs stand for
  const double* scales;
  bool zeros_are_plus;
  std::uint64_t* bits;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const SignBlockPlace block =
        sign_block_at(at.tile * sign_blocks_of_tile + at.thread / sign_columns, count);
    const unsigned word = at.thread % sign_columns;
    if (block.count == 0 || word >= block.words(1)) return;
    std::uint64_t signs = 0;
    if (scales[block.number] > 0)
      signs = zeros_are_plus ? packed<true>(block, word) : packed<false>(block, word);
    bits[block.words_before(1) + word] = signs;
  }

  template <bool zeros>
  [[nodiscard]] COHOM_HD std::uint64_t packed(const SignBlockPlace& block, unsigned word) const {
    std::uint32_t halves[2] = {0, 0};
    const T* const from = values + block.first;
    for_each_of_word(block, word, [&](unsigned bit, unsigned e) {
      const std::uint32_t plus = has_plus<T, zeros>(from[e]) ? 1 : 0;
      if (bit < 32)
        halves[0] |= plus << bit;
      else
        halves[1] |= plus << (bit - 32);
    });
    const std::uint64_t signs = std::uint64_t{halves[1]} << 32 | halves[0];
    if constexpr (sizeof(T) >= 4)
      if (rest != nullptr) subtract(block, word, signs);
    return signs;
  }

  COHOM_HD void subtract(const SignBlockPlace& block, unsigned word, std::uint64_t signs) const {
    const T scale = static_cast<T>(scales[block.number]);
    T* const to = rest + block.first;
    for_each_of_word(block, word, [&](unsigned bit, unsigned e) {
      to[e] = to[e] - ((signs >> bit & 1) != 0 ? scale : -scale);
    });
  }
};

template <class T>
void pack(DeviceContext& context, const SignRun& run, const T* values, T* rest,
          const double* scales, bool zeros_are_plus, std::uint64_t* bits) {
  expect_aligned(values, sizeof(T), "signs: elements");
  expect_aligned(bits, 8, "signs: words");
  const std::size_t blocks = tiles_of(run.count, sign_block);
  launch(PackSigns<T>{.tiles = tiles_of(blocks, sign_blocks_of_tile),
                      .count = run.count,
                      .values = view(values),
                      .rest = view(rest),
                      .scales = uploaded_scales(context, scales, blocks),
                      .zeros_are_plus = zeros_are_plus,
                      .bits = view(bits)});
}

}  // namespace

void pack_signs(const SignRun& run, const void* input, const void* state, const double* scales,
                bool zeros_are_plus, std::uint64_t* bits) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  body::with_element_type(run.type, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    if (state != nullptr)
      pack<Real>(context, run, static_cast<const Real*>(state), nullptr, scales, zeros_are_plus,
                 bits);
    else
      pack<T>(context, run, static_cast<const T*>(input), nullptr, scales, zeros_are_plus, bits);
  });
}

void pack_signs_with_feedback(const SignRun& run, void* state, const double* scales,
                              bool zeros_are_plus, std::uint64_t* bits) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  const auto pack_state = [&]<class Real>(Real* values) {
    pack<Real>(context, run, values, values, scales, zeros_are_plus, bits);
  };
  if (run.type == ElementType::f64)
    pack_state(static_cast<double*>(state));
  else
    pack_state(static_cast<float*>(state));
}

SignKernels sign_row() {
  return {measure_signs,     pack_signs,   pack_signs_with_feedback, count_signs,
          majority_of_signs, expand_signs, expand_sign_counts};
}

}  // namespace cohom::kernels::device
