// What blocks of signs hold: a column of 64 magnitudes stays in the registers of a thread. The
// order of additions is that of body::folded.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sign/device/sign_positions.hpp"
#include "kernels/sign/device/sign_rows.hpp"

namespace cohom::kernels::device {
namespace {

template <class T>
struct MeasureSigns {
  using Real = Arithmetic<T>;
  using Bits = typename body::FloatFormat<Real>::Bits;
  static constexpr unsigned threads = sign_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 3;
  static constexpr unsigned rows = sign_block / sign_columns;

  struct Shared {
    alignas(16) Bits largest[sign_blocks_of_tile][sign_columns];
    alignas(16) Bits own[sign_blocks_of_tile][sign_columns];
    alignas(16) Real sums[sign_blocks_of_tile][sign_columns];
  };
  struct Local {
    Bits magnitudes[rows];
  };

  std::size_t tiles;
  std::size_t count;
  const T* input;
  Real* state;
  bool of_input;
  SignBlock* blocks;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const unsigned slot = at.thread / sign_columns, column = at.thread % sign_columns;
    const SignBlockPosition block = sign_block_at(at.tile * sign_blocks_of_tile + slot, count);
    if (block.count == 0) return;
    if constexpr (phase == 0) read(block, slot, column, shared, local);
    if constexpr (phase == 1) {
      const SignBlock found = found_in(shared, slot);
      if (found.code != 0 && found.code != outlier_code)
        shared.sums[slot][column] = column_sum(found.code, local);
    }
    if constexpr (phase == 2) {
      if (column != 0) return;
      SignBlock found = found_in(shared, slot);
      if (found.code != 0 && found.code != outlier_code)
        found.sum = static_cast<double>(body::folded(shared.sums[slot]));
      blocks[block.number] = found;
    }
  }

  COHOM_HD void read(const SignBlockPosition& block, unsigned slot, unsigned column, Shared& shared,
                     Local& local) const {
    Bits largest = 0, own = 0;
    COHOM_UNROLL
    for (unsigned r = 0; r < rows; ++r) {
      const unsigned e = r * sign_columns + column;
      local.magnitudes[r] = 0;
      if (e >= block.count) continue;
      const Real x = load_element<T>(input, block.first + e);
      Real v = x;
      if (state != nullptr) state[block.first + e] = v = host_sum(x, state[block.first + e]);
      const Bits magnitude = body::magnitude_bits(of_input ? x : v);
      local.magnitudes[r] = magnitude;
      largest = magnitude > largest ? magnitude : largest;
      own = body::magnitude_bits(v) > own ? body::magnitude_bits(v) : own;
    }
    shared.largest[slot][column] = largest;
    shared.own[slot][column] = own;
  }

  COHOM_HD static SignBlock found_in(const Shared& shared, unsigned slot) {
    Bits largest = 0, own = 0;
    COHOM_UNROLL
    for (unsigned i = 0; i < sign_columns; ++i) {
      largest = shared.largest[slot][i] > largest ? shared.largest[slot][i] : largest;
      own = shared.own[slot][i] > own ? shared.own[slot][i] : own;
    }
    return body::block_of_magnitudes<Real>(largest, own);
  }

  COHOM_HD static Real column_sum(std::uint32_t code, const Local& local) {
    const body::UnitScale<Real> scale(static_cast<int>(code) - sign_exponent_offset);
    Real sum = 0;
    COHOM_UNROLL
    for (const Bits magnitude : local.magnitudes)
      sum = sum + body::from_bits<Real>(magnitude) * scale.first * scale.second;
    return sum;
  }
};

}  // namespace

void measure_signs(const SignRun& run, const void* input, void* state, bool of_input,
                   SignBlock* blocks) {
  DeviceContext& context = begin_call();
  if (run.count == 0) return;
  expect_aligned(input, size_of(run.type), "signs: elements");
  expect_aligned(state, feedback_bytes(run.type), "signs: state");
  const std::size_t count = tiles_of(run.count, sign_block);
  auto* const found = static_cast<SignBlock*>(context.scratch(count * sizeof(SignBlock)));
  body::with_element_type(run.type, [&]<class T>(T) {
    launch(MeasureSigns<T>{.tiles = tiles_of(count, sign_blocks_of_tile),
                           .count = run.count,
                           .input = view(static_cast<const T*>(input)),
                           .state = view(static_cast<Arithmetic<T>*>(state)),
                           .of_input = of_input,
                           .blocks = view(found)});
  });
  context.download(blocks, found, count * sizeof(SignBlock));
}

}  // namespace cohom::kernels::device
