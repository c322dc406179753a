// exact: one rank's part of an allreduce of four, piece by piece, and what an owner does.

#include "codec_workloads.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/exact/exact.hpp"
#include "kernels/table/kernel_table.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <numbers>

namespace cohom::bench {
namespace {

using kernels::ExactRoom;

constexpr std::size_t ranks = 4;
constexpr ExactRoom sum_room{ranks, ranks};
constexpr ExactRoom narrow_room{ranks, 1};

/// Normal values: their exponents vary within a mini-block as those of most data do.
std::shared_ptr<HugeBuffer> normal_vector(ElementType type, std::size_t bytes, std::uint64_t seed) {
  auto vector = std::make_shared<HugeBuffer>(bytes);
  std::uint64_t state = seed;
  const auto uniform = [&] {  // in (0, 1]
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>((state >> 11) + 1) * 0x1p-53;
  };
  kernels::body::with_element_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      const double value =
          std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
      kernels::body::store_element<T>(vector->data(), i,
                                      static_cast<kernels::body::Arithmetic<T>>(value));
    }
  });
  return vector;
}

/// The vectors of all ranks, their header, and payloads with room for a sum and without.
class ExactData {
 public:
  ExactData(ElementType type, std::size_t bytes)
      : type_(type), count_(bytes / size_of(type)), output_(bytes) {
    const std::size_t pieces = (count_ + piece_elements - 1) / piece_elements;
    header_words_ = kernels::exact_header_words(type, piece_elements);
    own_header_.resize(header_words_ * pieces);
    header_.resize(header_words_ * pieces);
    for (std::size_t r = 0; r < ranks; ++r) {
      inputs_.push_back(normal_vector(type, bytes, r + 1));
      measure(r);
      const Merge maximum{type == ElementType::f64 ? MergeKind::max16 : MergeKind::max8};
      const void* const sources[] = {header_.data(), own_header_.data()};
      table_.merge(maximum, sources, 2, 8 * header_.size(), header_.data());
    }
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      sum_begins_.push_back(sum_words_);
      narrow_begins_.push_back(narrow_words_);
      sum_words_ += length(sum_room, first, count);
      narrow_words_ += length(narrow_room, first, count);
    });
    sum_.resize(sum_words_);
    contribution_.resize(sum_words_);
    narrow_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      narrow_[r].resize(narrow_words_);
      encode_narrow(r);
      encode(r);
      merge();
    }
  }

  void measure(std::size_t rank = 0) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.measure({type_, count}, at(*inputs_[rank], first),
                       own_header_.data() + first / piece_elements * header_words_);
    });
  }
  void encode(std::size_t rank = 0) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.encode({type_, count}, sum_room, header(first), at(*inputs_[rank], first),
                      contribution_.data() + sum_begins_[first / piece_elements]);
    });
  }
  void encode_narrow(std::size_t rank = 0) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.encode({type_, count}, narrow_room, header(first), at(*inputs_[rank], first),
                      narrow_[rank].data() + narrow_begins_[first / piece_elements]);
    });
  }
  /// Adds the contribution that was encoded last.
  void merge() {
    const void* const sources[] = {sum_.data(), contribution_.data()};
    table_.merge({MergeKind::add}, sources, 2, 8 * sum_.size(), sum_.data());
  }
  void decode(std::uint64_t divisor) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      kernels_.decode({type_, count}, sum_room, header(first),
                      sum_.data() + sum_begins_[first / piece_elements], divisor,
                      at(output_, first));
    });
  }
  void sum() {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      const std::uint64_t* sources[ranks];
      for (std::size_t r = 0; r < ranks; ++r)
        sources[r] = narrow_[r].data() + narrow_begins_[first / piece_elements];
      kernels_.sum({type_, count}, narrow_room, header(first), sources, ranks, 1,
                   at(output_, first));
    });
  }
  std::size_t lengths() {
    std::size_t words = 0;
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      words += length(sum_room, first, count);
    });
    return words;
  }

 private:
  [[nodiscard]] std::byte* at(HugeBuffer& vector, std::size_t first) const {
    return vector.data() + first * size_of(type_);
  }
  [[nodiscard]] const std::uint64_t* header(std::size_t first) const {
    return header_.data() + first / piece_elements * header_words_;
  }
  [[nodiscard]] std::size_t length(const ExactRoom& room, std::size_t first,
                                   std::size_t count) const {
    return kernels::exact_length({type_, count}, room, header(first)).words;
  }

  const kernels::KernelTable& table_ = kernels::kernel_table();
  const kernels::ExactKernels& kernels_ = table_.exact;
  ElementType type_;
  std::size_t count_;
  std::vector<std::shared_ptr<HugeBuffer>> inputs_;
  HugeBuffer output_;
  std::size_t header_words_ = 0;  ///< of a whole piece
  std::vector<std::uint64_t> own_header_, header_;
  std::size_t sum_words_ = 0, narrow_words_ = 0;
  std::vector<std::size_t> sum_begins_, narrow_begins_;
  std::vector<std::uint64_t> contribution_, sum_;
  std::vector<std::vector<std::uint64_t>> narrow_;
};

}  // namespace

Workloads exact_workloads() {
  Workloads all;
  const auto add = [&](const std::string& name, ElementType type, auto work,
                       std::size_t vectors = 1) {
    all.push_back({"exact/" + name + "/" + std::string(name_of(type)),
                   [=](std::size_t bytes) {
                     auto data = std::make_shared<ExactData>(type, bytes);
                     return [=] { work(*data); };
                   },
                   vectors});
  };
  for (const auto type : all_element_types) {
    add("measure", type, [](ExactData& data) { data.measure(); });
    add("encode", type, [](ExactData& data) { data.encode(); });
    add("encode_narrow", type, [](ExactData& data) { data.encode_narrow(); });
    add("decode", type, [](ExactData& data) { data.decode(1); });
    add("decode_mean_3", type, [](ExactData& data) { data.decode(3); });
    add(
        "sum_4", type, [](ExactData& data) { data.sum(); }, ranks);
  }
  add("lengths", ElementType::f32,
      [](ExactData& data) { benchmark::DoNotOptimize(data.lengths()); });
  add("merge", ElementType::f32, [](ExactData& data) { data.merge(); });
  return all;
}

}  // namespace cohom::bench
