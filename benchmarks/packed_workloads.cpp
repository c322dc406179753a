// packed: one rank's part of an allreduce, piece by piece, and what an owner does.
//
// The vector is skewed as gradients are: normal inside a mini-block, on scales that are log-normal
// from mini-block to mini-block. Its step is found as the codec finds it, for five bits a value.

#include "codec_workloads.hpp"
#include "codecs/packed/packed_step.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace cohom::bench {
namespace {

using kernels::ConstPackedPayload;
using kernels::Dither;
using kernels::PackedRun;

/// Ranks that the limit on integers is for.
constexpr std::uint32_t ranks = 8;
constexpr std::uint32_t limit = kernels::packed_range / ranks;

std::shared_ptr<HugeBuffer> skewed_vector(ElementType type, std::size_t bytes) {
  auto vector = std::make_shared<HugeBuffer>(bytes);
  std::uint64_t state = 1;
  const auto uniform = [&] {  // in (0, 1]
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>((state >> 40) + 1) * 0x1p-24f;
  };
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(uniform())) *
           std::cos(2 * std::numbers::pi_v<float> * uniform());
  };
  kernels::body::with_element_type(type, [&]<class T>(T) {
    float scale = 1;
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      if (i % kernels::packed_mini == 0) scale = std::exp(normal());
      kernels::body::store_element<T>(vector->data(), i, scale * normal());
    }
  });
  return vector;
}

/// A vector, its payloads a piece each, and the kernels that go from one to the other.
class PackedData {
 public:
  PackedData(ElementType type, std::size_t bytes, Dither dither, std::size_t contributions)
      : type_(type),
        count_(bytes / size_of(type)),
        input_(skewed_vector(type, bytes)),
        output_(bytes),
        bins_(packed_bins(type)),
        shifted_(kernels::packed_capacity(piece_elements, false)),
        pieces_((count_ + piece_elements - 1) / piece_elements) {
    measure();
    const double step =
        PackedForecast(type, PackedHistogram::of(bins_, top_bin(bins_))).step_for(5, limit).value();
    quantizer_ = {.step = step,
                  .in_f64 = type == ElementType::f64,
                  .drops_small = true,
                  .limit = limit - 1,
                  .dither = dither,
                  .dither_key = 1,
                  .permutation_key = 2,
                  .dither_offsets = offsets_};
    for (std::size_t c = 0; c < contributions; ++c) {
      contributions_.emplace_back();
      quantizer_.dither_key = c + 1;
      make_room(contributions_.back());
      encode(c);
    }
    make_room(sum_);
    merge();
  }

  void measure() {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.measure(run(first, count), at(*input_, first), nullptr, bins_.data());
    });
  }
  void encode(std::size_t contribution = 0) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      Payload& payload = contributions_[contribution][first / piece_elements];
      payload.used = kernels_.encode(quantizer_, run(first, count), at(*input_, first), nullptr,
                                     payload.words);
    });
  }
  void merge() {
    std::vector<ConstPackedPayload> sources(contributions_.size());
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      const std::size_t piece = first / piece_elements;
      for (std::size_t c = 0; c < sources.size(); ++c) sources[c] = contributions_[c][piece].all();
      sum_[piece].used = kernels_.merge(kernels::packed_groups(count), sources.data(),
                                        sources.size(), sum_[piece].words);
    });
  }
  void shift() {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      const std::size_t piece = first / piece_elements;
      kernels_.shift(kernels::packed_groups(count), sum_[piece].all(), 1, shifted_.data());
    });
  }
  void decode() {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      std::uint32_t outliers[piece_elements / kernels::packed_group];
      kernels_.decode(run(first, count), sum_[first / piece_elements].all(), quantizer_.step,
                      quantizer_.in_f64, 1, outliers, at(output_, first));
    });
  }

 private:
  struct Payload {
    std::uint64_t* words = nullptr;
    std::size_t used = 0;
    [[nodiscard]] ConstPackedPayload all() const { return {words, used}; }
  };
  using Payloads = std::vector<Payload>;

  /// Payloads as long as they can be lie apart by much more than they are long; as memory is theirs
  /// once it is touched, that costs none.
  void make_room(Payloads& payloads) {
    const std::size_t words = kernels::packed_capacity(piece_elements, false);
    rooms_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(words * pieces_));
    for (std::size_t p = 0; p < pieces_; ++p)
      payloads.push_back({rooms_.back().get() + p * words, 0});
  }
  [[nodiscard]] PackedRun run(std::size_t first, std::size_t count) const {
    return {type_, first, count};
  }
  [[nodiscard]] std::byte* at(HugeBuffer& vector, std::size_t first) const {
    return vector.data() + first * size_of(type_);
  }

  const kernels::PackedKernels& kernels_ = kernels::kernel_table().packed;
  ElementType type_;
  std::size_t count_;
  std::shared_ptr<HugeBuffer> input_;
  HugeBuffer output_;
  std::vector<std::uint32_t> bins_;
  std::vector<std::uint64_t> shifted_;
  std::size_t pieces_;
  std::vector<std::uint8_t> offsets_ = {0, 32, 64, 96, 128, 160, 192, 224};
  kernels::PackedQuantizer quantizer_;
  std::vector<std::unique_ptr<std::uint64_t[]>> rooms_;
  std::vector<Payloads> contributions_;
  Payloads sum_;
};

}  // namespace

Workloads packed_workloads() {
  Workloads all;
  const auto add = [&](const std::string& name, ElementType type, Dither dither,
                       std::size_t contributions, auto work, std::size_t vectors = 1) {
    all.push_back({"packed/" + name,
                   [=](std::size_t bytes) {
                     auto data = std::make_shared<PackedData>(type, bytes, dither, contributions);
                     return [=] { work(*data); };
                   },
                   vectors});
  };
  const auto measure = [](PackedData& data) { data.measure(); };
  const auto encode = [](PackedData& data) { data.encode(); };
  const auto merge = [](PackedData& data) { data.merge(); };
  const auto shift = [](PackedData& data) { data.shift(); };
  const auto decode = [](PackedData& data) { data.decode(); };
  for (const auto type : all_element_types) {
    const std::string suffix = "/" + std::string(name_of(type));
    add("measure" + suffix, type, Dither::nearest, 1, measure);
    add("encode_nearest" + suffix, type, Dither::nearest, 1, encode);
    add("encode_dither" + suffix, type, Dither::correlated, 1, encode);
    add("decode" + suffix, type, Dither::nearest, 1, decode);
  }
  constexpr auto f32 = ElementType::f32;
  // A merge of two counts the vector once, as other codecs' do; an owner's counts all it adds.
  add("merge_2", f32, Dither::independent, 2, merge);
  add("merge_8", f32, Dither::independent, 8, merge, 8);
  add("shift", f32, Dither::independent, 2, shift);
  return all;
}

}  // namespace cohom::bench
