// thc: one rank's part of an allreduce, piece by piece.

#include "codec_workloads.hpp"
#include "codecs/thc/thc_options.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cohom/merge.hpp>

#include <cstdint>

namespace cohom::bench {
namespace {

using kernels::ThcRun;

/// A vector, its codes and words, and the kernels that go from one to the other.
class ThcData {
 public:
  ThcData(ElementType type, std::size_t bytes, const ThcOptions& options, std::uint32_t ranks)
      : type_(type),
        count_(bytes / size_of(type)),
        format_(make_thc_format(options, 0, ranks)),
        blocks_(count_ / format_.rotation),
        input_(random_vector(type, bytes)),
        output_(bytes),
        feedback_(options.error_feedback ? count_ * feedback_size() : 0),
        codes_(blocks_),
        narrow_(blocks_ * block_words(Form::narrow) * ranks * 8),
        wide_(blocks_ * block_words(Form::wide) * 8) {
    measure();
    for (std::uint32_t c = 0; c < ranks; ++c) encode(Form::narrow, c);
    promote();
  }

  void measure() {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.measure(format_, run(first, count), at(*input_, first), feedback_at(first),
                       codes_.data() + first / format_.rotation);
    });
  }
  void encode(Form form, std::size_t contribution = 0) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      std::uint64_t* words = form == Form::wide ? wide_at(first) : narrow_at(first, contribution);
      kernels_.encode(format_, draws_, run(first, count), at(*input_, first), feedback_at(first),
                      codes_.data() + first / format_.rotation, form, words);
    });
  }
  void promote() {
    std::vector<const std::uint64_t*> contributions(format_.ranks);
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      for (std::size_t c = 0; c < format_.ranks; ++c) contributions[c] = narrow_at(first, c);
      kernels_.promote(format_, run(first, count), contributions.data(), format_.ranks,
                       wide_at(first));
    });
  }
  void decode() {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.decode(format_, draws_, run(first, count), wide_at(first), format_.ranks,
                      codes_.data() + first / format_.rotation, 1, at(output_, first));
    });
  }

 private:
  [[nodiscard]] ThcRun run(std::size_t first, std::size_t count) const {
    return {type_, first, count};
  }
  [[nodiscard]] std::size_t feedback_size() const { return type_ == ElementType::f64 ? 8 : 4; }
  [[nodiscard]] std::size_t block_words(Form form) const {
    return kernels::body::words_per_block(
        format_.rotation, form == Form::narrow ? format_.narrow_width : format_.wide_width);
  }
  [[nodiscard]] std::byte* at(HugeBuffer& vector, std::size_t first) const {
    return vector.data() + first * size_of(type_);
  }
  [[nodiscard]] std::byte* feedback_at(std::size_t first) {
    return feedback_.size() == 0 ? nullptr : feedback_.data() + first * feedback_size();
  }
  [[nodiscard]] std::uint64_t* narrow_at(std::size_t first, std::size_t contribution) {
    const std::size_t block = contribution * blocks_ + first / format_.rotation;
    return narrow_.words() + block * block_words(Form::narrow);
  }
  [[nodiscard]] std::uint64_t* wide_at(std::size_t first) {
    return wide_.words() + first / format_.rotation * block_words(Form::wide);
  }

  const kernels::ThcKernels& kernels_ = kernels::kernel_table().thc;
  kernels::ThcDraws draws_{1, 2, 3};
  ElementType type_;
  std::size_t count_;
  kernels::ThcFormat format_;
  std::size_t blocks_;
  std::shared_ptr<HugeBuffer> input_;
  HugeBuffer output_, feedback_;
  std::vector<std::uint32_t> codes_;
  HugeBuffer narrow_, wide_;
};

}  // namespace

Workloads thc_workloads() {
  Workloads all;
  const auto add = [&](const std::string& name, ElementType type, ThcOptions options,
                       std::uint32_t ranks, auto work) {
    all.push_back({"thc/" + name, [=](std::size_t bytes) {
                     auto data = std::make_shared<ThcData>(type, bytes, options, ranks);
                     return [=] { work(*data); };
                   }});
  };
  const auto measure = [](ThcData& data) { data.measure(); };
  const auto narrow = [](ThcData& data) { data.encode(Form::narrow); };
  const auto wide = [](ThcData& data) { data.encode(Form::wide); };
  const auto promote = [](ThcData& data) { data.promote(); };
  const auto decode = [](ThcData& data) { data.decode(); };
  for (const auto type : all_element_types) {
    const std::string suffix = "/" + std::string(name_of(type));
    add("measure" + suffix, type, {}, 4, measure);
    add("encode" + suffix, type, {}, 4, narrow);
    add("encode_wide" + suffix, type, {}, 4, wide);
    add("decode" + suffix, type, {}, 4, decode);
  }
  constexpr auto f32 = ElementType::f32;
  const ThcOptions feedback{.dither = kernels::Dither::nearest, .error_feedback = true};
  const ThcOptions six_bits{.bits = 6, .intervals = 126, .lane = 12};
  const ThcOptions full{.table = false, .intervals = 63, .tail = 1.0 / 1024};
  add("measure_feedback", f32, feedback, 4, measure);
  add("encode_feedback", f32, feedback, 4, narrow);
  add("encode_nearest", f32, {.dither = kernels::Dither::nearest}, 4, narrow);
  add("encode_6_bits", f32, six_bits, 4, narrow);
  add("encode_full", f32, full, 4, narrow);
  add("encode_full_wide", f32, full, 4, wide);
  add("widen_4", f32, {}, 4, promote);
  add("widen_8", f32, {}, 8, promote);
  add("encode_wide_12_bits", f32, {.lane = 12}, 9, wide);
  add("widen_12_bits", f32, {.lane = 12}, 9, promote);
  add("decode_12_bits", f32, {.lane = 12}, 9, decode);
  for (const std::uint32_t rotation : {1024, 65536}) {
    const std::string suffix = "_rotation_" + std::to_string(rotation);
    add("encode" + suffix, f32, {.rotation = rotation}, 4, narrow);
    add("decode" + suffix, f32, {.rotation = rotation}, 4, decode);
  }
  return all;
}

}  // namespace cohom::bench
