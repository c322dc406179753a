// The thc row: a run is its whole blocks, then what is ragged.

#include "kernels/core/body/lanes.hpp"
#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/device/thc_rows.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

/// Which part of a run is whole blocks, and what comes behind them.
struct Parts {
  std::size_t whole;  ///< blocks
  std::size_t rest;   ///< elements
  std::size_t padded;

  Parts(const ThcFormat& format, std::size_t count)
      : whole(count / format.rotation), rest(count % format.rotation), padded(16) {
    while (padded < rest) padded *= 2;
  }
  [[nodiscard]] std::size_t codes() const { return whole + (rest != 0 ? 1 : 0); }
};

template <class T>
T* advanced(T* array, std::size_t bytes) {
  if (array == nullptr) return nullptr;
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return reinterpret_cast<Byte*>(array) + bytes;
}

bool has_frames(const ThcFormat& format) { return format.rotation == 256; }

BlockRun blocks_of(const ThcFormat& format, const ThcRun& run, const Parts& parts) {
  return {run.type, run.first, parts.whole * format.rotation, format.rotation};
}
BlockRun rest_of(const ThcFormat& format, const ThcRun& run, const Parts& parts) {
  return {run.type, run.first + parts.whole * format.rotation, parts.rest, parts.padded};
}

void expect_places(ElementType type, const void* elements, const void* feedback) {
  expect_aligned(elements, size_of(type), "thc: elements");
  expect_aligned(feedback, feedback_bytes(type), "thc: feedback");
}

const std::uint32_t* uploaded_codes(DeviceContext& context, const std::uint32_t* codes,
                                    const Parts& parts) {
  return static_cast<const std::uint32_t*>(view(context.upload(codes, parts.codes() * 4)));
}

void measure(const ThcFormat& format, const ThcRun& run, const void* input, void* feedback,
             std::uint32_t* codes) {
  DeviceContext& context = begin_call();
  const Parts parts(format, run.count);
  if (run.count == 0) return;
  expect_places(run.type, input, feedback);
  auto* const found = static_cast<std::uint32_t*>(context.scratch(parts.codes() * 4));
  const void* const elements = view(input);
  void* const state = view(feedback);
  if (has_frames(format))
    measure_frames(run, elements, state, view(found));
  else
    measure_blocks(blocks_of(format, run, parts), elements, state, view(found));
  if (parts.rest != 0) {
    const std::size_t before = parts.whole * format.rotation;
    measure_blocks(rest_of(format, run, parts), advanced(elements, before * size_of(run.type)),
                   advanced(state, before * feedback_bytes(run.type)), view(found) + parts.whole);
  }
  context.download(codes, found, parts.codes() * 4);
}

void encode(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run, const void* input,
            void* feedback, const std::uint32_t* codes, Form form, std::uint64_t* words) {
  DeviceContext& context = begin_call();
  const Parts parts(format, run.count);
  if (run.count == 0) return;
  expect_places(run.type, input, feedback);
  expect_aligned(words, 8, "thc: words");
  const ThcSettings settings = upload_settings(context, format, &draws);
  const std::uint32_t* const blocks = uploaded_codes(context, codes, parts);
  const void* const elements = view(input);
  void* const state = view(feedback);
  std::uint64_t* const to = view(words);
  if (has_frames(format))
    encode_frames(settings, run, elements, state, blocks, form, to);
  else
    encode_blocks(context, settings, blocks_of(format, run, parts), elements, state, blocks, form,
                  to);
  if (parts.rest == 0) return;
  const std::size_t before = parts.whole * format.rotation;
  const unsigned width = form == Form::narrow ? format.narrow_width : format.wide_width;
  encode_blocks(context, settings, rest_of(format, run, parts),
                advanced(elements, before * size_of(run.type)),
                advanced(state, before * feedback_bytes(run.type)), blocks + parts.whole, form,
                to + parts.whole * body::words_per_block(format.rotation, width));
}

void promote(const ThcFormat& format, const ThcRun& run, const std::uint64_t* const* contributions,
             std::size_t contribution_count, std::uint64_t* sum) {
  DeviceContext& context = begin_call();
  const Parts parts(format, run.count);
  if (run.count == 0) return;
  expect_aligned(sum, 8, "thc: a sum");
  std::vector<const std::uint64_t*> views;
  views.reserve(contribution_count);
  for (std::size_t c = 0; c < contribution_count; ++c) {
    expect_aligned(contributions[c], 8, "thc: a contribution");
    views.push_back(view(contributions[c]));
  }
  const ThcSettings settings = upload_settings(context, format, nullptr);
  const auto* const list = static_cast<const std::uint64_t* const*>(
      view(context.upload(views.data(), views.size() * sizeof(void*))));
  std::uint64_t* const to = view(sum);
  if (has_frames(format))
    promote_frames(settings, parts.whole, list, contribution_count, to);
  else
    promote_blocks(settings, parts.whole, format.rotation, list, contribution_count, 0, to);
  if (parts.rest == 0) return;
  const std::size_t narrow = body::words_per_block(format.rotation, format.narrow_width);
  const std::size_t wide = body::words_per_block(format.rotation, format.wide_width);
  promote_blocks(settings, 1, parts.padded, list, contribution_count, parts.whole * narrow,
                 to + parts.whole * wide);
}

void decode(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
            const std::uint64_t* sum, std::size_t contributions, const std::uint32_t* codes,
            std::uint64_t divisor, void* output) {
  DeviceContext& context = begin_call();
  const Parts parts(format, run.count);
  if (run.count == 0) return;
  expect_aligned(sum, 8, "thc: a sum");
  expect_aligned(output, size_of(run.type), "thc: the output");
  const ThcSettings settings = upload_settings(context, format, &draws);
  const std::uint32_t* const blocks = uploaded_codes(context, codes, parts);
  const std::uint64_t* const from = view(sum);
  void* const to = view(output);
  if (has_frames(format))
    decode_frames(settings, run, from, contributions, blocks, divisor, to);
  else
    decode_blocks(context, settings, blocks_of(format, run, parts), from, contributions, blocks,
                  divisor, to);
  if (parts.rest == 0) return;
  const std::size_t before = parts.whole * format.rotation;
  const std::size_t wide = body::words_per_block(format.rotation, format.wide_width);
  decode_blocks(context, settings, rest_of(format, run, parts), from + parts.whole * wide,
                contributions, blocks + parts.whole, divisor,
                advanced(to, before * size_of(run.type)));
}

}  // namespace

ThcKernels thc_row() { return {measure, encode, promote, decode}; }

}  // namespace cohom::kernels::device
