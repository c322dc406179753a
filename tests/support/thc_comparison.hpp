#pragma once
// One run through the thc kernels of an instruction set and of the reference, compared bit by bit.

#include "codecs/common/codec.hpp"
#include "codecs/thc/thc_options.hpp"
#include "elements.hpp"
#include "guarded_buffer.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/thc/cpu/thc_rows.hpp"
#include "kernels/thc/thc.hpp"
#include "nasty_values.hpp"
#include "same_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cohom::test {

/// The steps are called in the order measure(), agree(), encode(), promote(), decode(); with
/// feedback, measure(), agree(), encode(). What is written is written to unaligned buffers between
/// fences.
class ThcComparison {
 public:
  ThcComparison(const kernels::ThcKernels& tested, const ThcOptions& options, std::uint32_t ranks,
                ElementType type, std::size_t count, std::size_t misalignment, std::uint64_t seed)
      : tested_(tested),
        ranks_(ranks),
        format_(make_thc_format(options, ranks / 2, ranks)),
        run_{type, 3 * std::size_t{format_.rotation}, count},
        misalignment_(misalignment),
        seed_(seed),
        input_(to_bytes(type, nasty_values(count, seed))),
        unaligned_input_(copy_of(input_)),
        codes_((count + format_.rotation - 1) / format_.rotation) {}

  void measure(bool with_feedback) {
    if (with_feedback) feedback_ = to_bytes(feedback_type(), normal_values(run_.count, 7, 1e-3));
    GuardedBuffer feedback = copy_of(feedback_);
    GuardedBuffer codes(codes_.size() * 4, 4);
    reference_.measure(format_, run_, input_.data(), with_feedback ? feedback_.data() : nullptr,
                       codes_.data());
    tested_.measure(format_, run_, unaligned_input_.data(),
                    with_feedback ? feedback.data() : nullptr,
                    reinterpret_cast<std::uint32_t*>(codes.data()));
    expect_same(codes, std::as_bytes(std::span(codes_)), "codes");
    expect_same(feedback, feedback_, "input + feedback");
  }

  /// As if other ranks had blocks with larger norms, and outliers.
  void agree() {
    std::mt19937_64 engine(seed_);
    const std::uint32_t larger = run_.type == ElementType::f64 ? 1100u << 20 : 278u << 23;
    for (std::uint32_t& code : codes_)
      if (engine() % 4 == 0)
        code = engine() % 8 == 0 ? kernels::outlier_code : std::max(code, larger);
  }

  /// As no ranks agree: norms so small that scaled elements are infinite, and their sums no
  /// numbers.
  void understate() {
    const std::uint32_t tiny =
        run_.type == ElementType::f64 ? (1100u + 1023 - 400) << 20 : (150u + 127 - 50) << 23;
    for (std::uint32_t& code : codes_)
      if (code != kernels::outlier_code) code = std::min(code, tiny);
  }

  void encode(Form form, bool with_feedback) {
    Bytes words(words_of(form) * 8);
    Bytes feedback = feedback_;
    GuardedBuffer found_words(words.size(), 8);
    GuardedBuffer found_feedback = copy_of(feedback);
    reference_.encode(format_, draws(0), run_, input_.data(),
                      with_feedback ? feedback.data() : nullptr, codes_.data(), form,
                      words_at(words));
    tested_.encode(format_, draws(0), run_, unaligned_input_.data(),
                   with_feedback ? found_feedback.data() : nullptr, codes_.data(), form,
                   reinterpret_cast<std::uint64_t*>(found_words.data()));
    const std::string what = form == Form::narrow ? "narrow words" : "wide words";
    expect_same(found_words, words, what);
    expect_same(found_feedback, feedback, "feedback after " + what);
  }

  void promote() {
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
    reference_.promote(format_, run_, pointers.data(), ranks_, words_at(sum_));
    tested_.promote(format_, run_, pointers.data(), ranks_,
                    reinterpret_cast<std::uint64_t*>(found.data()));
    expect_same(found, sum_, "sum");
  }

  /// `first` is where in the vector the run lies, in elements: far in, output is written
  /// differently.
  void decode(std::uint64_t divisor, std::size_t first = 0) {
    kernels::ThcRun run = run_;
    run.first += first;
    Bytes output(input_.size(), std::byte{0x5a});
    GuardedBuffer found = copy_of(output);
    reference_.decode(format_, draws(0), run, words_at(sum_), ranks_, codes_.data(), divisor,
                      output.data());
    tested_.decode(format_, draws(0), run, words_at(sum_), ranks_, codes_.data(), divisor,
                   found.data());
    expect_same(found, output, "elements, divisor " + std::to_string(divisor));
  }

 private:
  [[nodiscard]] ElementType feedback_type() const {
    return run_.type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  }
  [[nodiscard]] static kernels::ThcDraws draws(std::uint32_t rank) { return {11, 12 + rank, 13}; }
  [[nodiscard]] std::size_t words_of(Form form) const {
    const unsigned width = form == Form::narrow ? format_.narrow_width : format_.wide_width;
    const std::size_t rest = run_.count % format_.rotation;
    const auto words = [&](std::size_t values) {
      return kernels::body::words_per_block(values, width);
    };
    return run_.count / format_.rotation * words(format_.rotation) +
           (rest == 0 ? 0 : words(padded_block(rest)));
  }
  [[nodiscard]] GuardedBuffer copy_of(const Bytes& bytes) const {
    GuardedBuffer copy(bytes.size(), misalignment_);
    copy.fill(bytes);
    return copy;
  }
  static std::uint64_t* words_at(Bytes& bytes) {
    return reinterpret_cast<std::uint64_t*>(bytes.data());
  }
  static void expect_same(const GuardedBuffer& found, std::span<const std::byte> expected,
                          const std::string& what) {
    EXPECT_TRUE(same_bytes(found.bytes(), expected)) << what;
    EXPECT_TRUE(found.fences_intact()) << what;
  }

  const kernels::ThcKernels& tested_;
  const kernels::ThcKernels& reference_ = kernels::scalar_thc();
  std::uint32_t ranks_;
  kernels::ThcFormat format_;
  kernels::ThcRun run_;
  std::size_t misalignment_;
  std::uint64_t seed_;
  Bytes input_;
  GuardedBuffer unaligned_input_;
  std::vector<std::uint32_t> codes_;
  Bytes feedback_;
  Bytes sum_;
};

}  // namespace cohom::test
