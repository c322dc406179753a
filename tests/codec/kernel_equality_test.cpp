// Every instruction set gives the bits of the scalar reference: thc's four kernels.

#include "codec_interface.hpp"
#include "codecs/thc_options.hpp"
#include "elements.hpp"
#include "guarded_buffer.hpp"
#include "kernels/body/lanes.hpp"
#include "kernels/cpu/scalar_thc.hpp"
#include "kernels/kernel_table.hpp"
#include "same_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

using namespace kernels;

struct Case {
  std::string name;
  std::uint32_t ranks;
  ThcOptions options;
  std::uint64_t seed = 1;
};

/// Rotations, dithers, lanes and levels: each varied alone, and some together.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](std::string name, std::uint32_t ranks, ThcOptions options) {
    options.error_feedback = false;  // the kernels are told by a pointer
    all.push_back({std::move(name), ranks, options, all.size() + 1});
  };
  for (std::uint32_t ranks : {1, 2, 3, 4, 8}) add("n" + std::to_string(ranks), ranks, {});
  add("n17", 17, {.lane = 12});
  for (std::uint32_t rotation : {16, 64, 128, 512, 1024, 4096, 8192, 65536})
    add("rotation" + std::to_string(rotation), 4, {.rotation = rotation});
  add("nearest", 4, {.dither = Dither::nearest});
  add("independent", 4, {.dither = Dither::independent});
  for (unsigned lane : {12u, 16u, 21u, 32u})
    for (std::uint32_t rotation : {256, 1024})
      add("lane" + std::to_string(lane) + "_" + std::to_string(rotation), 3,
          {.lane = lane, .rotation = rotation});
  for (unsigned bits : {1u, 2u, 3u, 5u, 6u, 7u, 8u}) {
    const std::uint32_t intervals = bits == 1 ? 1 : 2 * ((1u << bits) - 1);
    add("bits" + std::to_string(bits), 3, {.bits = bits, .intervals = intervals, .lane = 12});
    add("bits" + std::to_string(bits) + "_512", 3,
        {.bits = bits, .intervals = intervals, .lane = 16, .rotation = 512});
  }
  add("wide_gap", 3, {.bits = 1, .intervals = 30});
  add("tight_table", 3, {.intervals = 15});
  add("largest_small_table", 8, {.intervals = 31});
  add("granularity40", 3, {.intervals = 40});
  add("granularity1000", 3, {.intervals = 1000, .lane = 12});
  for (std::uint32_t intervals : {1, 7, 15, 16, 63, 127, 255})
    add("full" + std::to_string(intervals), 1, {.table = false, .intervals = intervals});
  add("full_n4_1024", 4, {.table = false, .intervals = 63, .rotation = 1024});
  add("full_16_bits", 1, {.table = false, .intervals = 65535, .lane = 16});
  add("full_32_bits", 3, {.table = false, .intervals = 65535, .lane = 32});
  add("full_clamped", 4, {.table = false, .intervals = 15, .lane = 8, .tail = 0.5});
  return all;
}

/// Blocks of every nasty kind among normal ones, whatever the block's size.
std::vector<double> nasty_values(std::size_t count, std::uint64_t seed) {
  std::vector<double> values = normal_values(count, seed);
  std::mt19937_64 engine(seed);
  const std::size_t stretch = 256;
  for (std::size_t first = 0; first < count; first += stretch) {
    const std::ranges::subrange part(
        values.begin() + std::ptrdiff_t(first),
        values.begin() + std::ptrdiff_t(std::min(first + stretch, count)));
    const auto scale = [&](double by) {
      for (double& v : part) v *= by;
    };
    double& one = part[std::ptrdiff_t(engine() % part.size())];
    switch (engine() % 16) {
      case 0: scale(0); break;
      case 1: scale(-0.0); break;
      case 2: scale(1e30); break;
      case 3: scale(1e-30); break;
      case 4: scale(1e-40); break;  // denormal in f32
      case 5: scale(3e-45); break;
      case 6: scale(1e-6); break;  // denormal in f16
      case 7: scale(1e-300); break;
      case 8: scale(1e300); break;
      case 9: one = 1e4; break;
      case 10: one = std::numeric_limits<double>::quiet_NaN(); break;
      case 11: one = -std::numeric_limits<double>::infinity(); break;
      case 12: std::ranges::fill(part, 0.5); break;
      default: break;
    }
  }
  return values;
}

/// One run of one vector, encoded and decoded by both.
class Comparison {
 public:
  Comparison(const ThcKernels& tested, const Case& from, ElementType type, std::size_t count,
             std::size_t misalignment)
      : tested_(tested),
        ranks_(from.ranks),
        format_(make_thc_format(from.options, from.ranks / 2, from.ranks)),
        run_{type, 3 * std::size_t{format_.rotation}, count},
        misalignment_(misalignment),
        input_(to_bytes(type, nasty_values(count, from.seed))),
        unaligned_input_(copy_of(input_)),
        codes_((count + format_.rotation - 1) / format_.rotation) {}

  void measure() {
    Bytes codes(codes_.size() * 4);
    reference_.measure(format_, run_, input_.data(), nullptr, codes_.data());
    std::memcpy(codes.data(), codes_.data(), codes.size());
    GuardedBuffer found(codes.size(), 4);
    tested_.measure(format_, run_, unaligned_input_.data(), nullptr, codes_at(found));
    expect_same(found, codes, "codes");
  }

  void measure_with_feedback() {
    feedback_ = to_bytes(feedback_type(), normal_values(run_.count, 7, 1e-3));
    GuardedBuffer found = copy_of(feedback_);
    GuardedBuffer found_codes(codes_.size() * 4, 4);
    reference_.measure(format_, run_, input_.data(), feedback_.data(), codes_.data());
    tested_.measure(format_, run_, unaligned_input_.data(), found.data(), codes_at(found_codes));
    expect_same(found, feedback_, "input + feedback");
    expect_same(found_codes, std::as_bytes(std::span(codes_)), "codes with feedback");
  }

  /// As if other ranks had blocks with larger norms, or escaped ones.
  void agree(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    for (std::uint32_t& code : codes_)
      if (engine() % 4 == 0)
        code = std::max(code, std::uint32_t(engine() % 8 == 0                   ? escaped_code
                                            : format_type() == ElementType::f64 ? 1100u << 20
                                                                                : 278u << 23));
  }

  void encode(Form form, bool with_feedback) {
    Bytes words(words_of(form) * 8);
    GuardedBuffer found(words.size(), 8);
    Bytes feedback = feedback_;
    GuardedBuffer found_feedback = copy_of(feedback);
    reference_.encode(format_, draws(0), run_, input_.data(),
                      with_feedback ? feedback.data() : nullptr, codes_.data(), form,
                      words_at(words));
    tested_.encode(format_, draws(0), run_, unaligned_input_.data(),
                   with_feedback ? found_feedback.data() : nullptr, codes_.data(), form,
                   reinterpret_cast<std::uint64_t*>(found.data()));
    const std::string what = form == Form::narrow ? "narrow words" : "wide words";
    expect_same(found, words, what);
    if (with_feedback) expect_same(found_feedback, feedback, "feedback after " + what);
  }

  void widen() {
    std::vector<Bytes> contributions;
    std::vector<const std::uint64_t*> pointers;
    for (std::uint32_t c = 0; c < ranks_; ++c) {
      contributions.emplace_back(words_of(Form::narrow) * 8);
      reference_.encode(format_, draws(c), run_, input_.data(), nullptr, codes_.data(),
                        Form::narrow, words_at(contributions.back()));
      pointers.push_back(words_at(contributions.back()));
    }
    sum_.resize(words_of(Form::wide) * 8);
    GuardedBuffer found(sum_.size(), 8);
    reference_.widen(format_, run_, pointers.data(), ranks_, words_at(sum_));
    tested_.widen(format_, run_, pointers.data(), ranks_,
                  reinterpret_cast<std::uint64_t*>(found.data()));
    expect_same(found, sum_, "sum");
  }

  void decode(std::uint64_t divisor) {
    Bytes output(input_.size(), std::byte{0x5a});
    GuardedBuffer found = copy_of(output);
    reference_.decode(format_, draws(0), run_, words_at(sum_), ranks_, codes_.data(), divisor,
                      output.data());
    tested_.decode(format_, draws(0), run_, words_at(sum_), ranks_, codes_.data(), divisor,
                   found.data());
    expect_same(found, output, "elements, divisor " + std::to_string(divisor));
  }

 private:
  [[nodiscard]] ElementType format_type() const { return run_.type; }
  [[nodiscard]] ElementType feedback_type() const {
    return run_.type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  }
  [[nodiscard]] ThcDraws draws(std::uint32_t rank) const { return {11, 12 + rank, 13}; }
  [[nodiscard]] std::size_t words_of(Form form) const {
    const unsigned width = form == Form::narrow ? format_.narrow_width : format_.wide_width;
    const std::size_t block = format_.rotation;
    const std::size_t rest = run_.count % block;
    return run_.count / block * body::words_per_block(block, width) +
           (rest == 0 ? 0 : body::words_per_block(padded_block(rest), width));
  }
  [[nodiscard]] GuardedBuffer copy_of(const Bytes& bytes) const {
    GuardedBuffer copy(bytes.size(), misalignment_);
    copy.fill(bytes);
    return copy;
  }
  static std::uint32_t* codes_at(GuardedBuffer& buffer) {
    return reinterpret_cast<std::uint32_t*>(buffer.data());
  }
  static std::uint64_t* words_at(Bytes& bytes) {
    return reinterpret_cast<std::uint64_t*>(bytes.data());
  }
  static void expect_same(const GuardedBuffer& found, std::span<const std::byte> expected,
                          const std::string& what) {
    EXPECT_TRUE(same_bytes(found.bytes(), expected)) << what;
    EXPECT_TRUE(found.fences_intact()) << what;
  }

  const ThcKernels& tested_;
  const ThcKernels& reference_ = scalar_thc();
  std::uint32_t ranks_;
  ThcFormat format_;
  ThcRun run_;
  std::size_t misalignment_;
  Bytes input_;
  GuardedBuffer unaligned_input_;
  std::vector<std::uint32_t> codes_;
  Bytes feedback_;
  Bytes sum_;
};

void compare(const ThcKernels& tested, const Case& from, ElementType type, std::size_t count,
             std::size_t misalignment) {
  SCOPED_TRACE(std::string(name_of(type)) + ", " + std::to_string(count) + " elements, seed " +
               std::to_string(from.seed) + ", misaligned by " + std::to_string(misalignment));
  Comparison run(tested, from, type, count, misalignment);
  run.measure();
  run.agree(from.seed);
  for (const Form form : {Form::narrow, Form::wide}) run.encode(form, false);
  run.widen();
  for (const std::uint64_t divisor : {1, 7}) run.decode(divisor);
  run.measure_with_feedback();
  run.agree(from.seed);
  for (const Form form : {Form::narrow, Form::wide}) run.encode(form, true);
}

class KernelEquality : public testing::TestWithParam<std::tuple<Isa, Case>> {};

TEST_P(KernelEquality, Thc) {
  const auto& [isa, from] = GetParam();
  const ThcKernels& tested = kernel_table(isa).thc;
  const std::size_t block = from.options.rotation;
  for (const ElementType type : all_element_types) {
    std::vector<std::size_t> counts = {block * 3, block + 19};
    if (block <= 1024) counts = {0, 1, 15, 16, 17, 255, 256, 257, 511, 4096 + 13, 40 * block};
    for (const std::size_t count : counts)
      compare(tested, from, type, count, count % 3 * size_of(type));
    if (HasFailure()) return;
  }
}

std::vector<Isa> vector_isas() {
  const auto all = supported_isas();
  return {all.begin() + 1, all.end()};
}

INSTANTIATE_TEST_SUITE_P(, KernelEquality,
                         testing::Combine(testing::ValuesIn(vector_isas()),
                                          testing::ValuesIn(cases())),
                         [](const auto& instance) {
                           return std::string(name_of(std::get<0>(instance.param))) + "_" +
                                  std::get<1>(instance.param).name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelEquality);  // no vector kernels in this build

}  // namespace
}  // namespace cohom::test
