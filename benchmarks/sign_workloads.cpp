// signcount and marsit: one rank's part of an allreduce, piece by piece.

#include "codec_workloads.hpp"
#include "codecs/common/lane_layout.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cstdint>

namespace cohom::bench {
namespace {

using kernels::sign_block;
using kernels::SignRun;

/// A vector, its signs and counts, and the kernels that go from one to the other.
class SignData {
 public:
  SignData(ElementType type, std::size_t bytes, std::uint32_t ranks)
      : type_(type),
        count_(bytes / size_of(type)),
        counts_{ranks, smallest_lane_width(ranks)},
        sample_(kernels::make_sample_format(0, ranks)),
        input_(random_vector(type, bytes)),
        output_(bytes),
        state_(count_ * (type == ElementType::f64 ? 8 : 4)),
        signs_(count_ / 8),
        own_(8 * kernels::sampled_words(piece_elements, ranks) * pieces()),
        sums_(8 * words_of_run(count_, sign_block, counts_.width)),
        blocks_(count_ / sign_block),
        scales_(count_ / sign_block, 1.0) {
    measure(true);
    pack(false);
    count();
    gather();
  }

  void measure(bool feedback) {
    each([&](const SignRun& run) {
      kernels_.sign.measure(run, at(*input_, run), feedback ? state(run) : nullptr, false,
                            blocks_.data() + run.first / sign_block);
    });
  }
  void pack(bool feedback) {
    each([&](const SignRun& run) {
      if (feedback)
        kernels_.sign.pack_feedback(run, state(run), scales(run), true, words(signs_, run, 1));
      else
        kernels_.sign.pack(run, at(*input_, run), nullptr, scales(run), true,
                           words(signs_, run, 1));
    });
  }
  void count() {
    each([&](const SignRun& run) {
      const std::vector<const std::uint64_t*> all(counts_.ranks, words(signs_, run, 1));
      kernels_.sign.count(counts_, run, all.data(), all.size(), words(sums_, run, counts_.width));
    });
  }
  void majority() {
    each([&](const SignRun& run) {
      kernels_.sign.majority(counts_, run, words(sums_, run, counts_.width), false,
                             words(signs_, run, 1));
    });
  }
  void expand(bool compensation) {
    each([&](const SignRun& run) {
      kernels_.sign.expand(run, words(signs_, run, 1), scales(run), counts_.ranks, 1,
                           compensation ? state(run) : nullptr, at(output_, run));
    });
  }
  void expand_counts(std::uint64_t divisor) {
    each([&](const SignRun& run) {
      kernels_.sign.expand_counts(counts_, run, words(sums_, run, counts_.width), scales(run),
                                  divisor, at(output_, run));
    });
  }
  void keep() {
    each([&](const SignRun& run) {
      kernels_.sample.keep_own(sample_, 1, run, words(signs_, run, 1));
    });
  }
  void gather() {
    each([&](const SignRun& run) {
      kernels_.sample.gather_own(sample_, 1, run, words(signs_, run, 1), own(run));
    });
  }
  void place() {
    each([&](const SignRun& run) {
      const std::vector<const std::uint64_t*> all(counts_.ranks, own(run));
      kernels_.sample.place(sample_, 1, run, all.data(), words(signs_, run, 1));
    });
  }

 private:
  template <class Work>
  void each(Work work) {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      work(SignRun{type_, first, count});
    });
  }
  [[nodiscard]] std::size_t pieces() const { return (count_ - 1) / piece_elements + 1; }
  [[nodiscard]] std::byte* at(HugeBuffer& vector, const SignRun& run) const {
    return vector.data() + run.first * size_of(type_);
  }
  [[nodiscard]] std::byte* state(const SignRun& run) {
    return state_.data() + run.first * (type_ == ElementType::f64 ? 8 : 4);
  }
  [[nodiscard]] std::uint64_t* words(HugeBuffer& buffer, const SignRun& run, unsigned width) const {
    return buffer.words() + words_of_run(run.first, sign_block, width);
  }
  [[nodiscard]] std::uint64_t* own(const SignRun& run) {
    return own_.words() +
           run.first / piece_elements * kernels::sampled_words(piece_elements, counts_.ranks);
  }
  [[nodiscard]] const double* scales(const SignRun& run) const {
    return scales_.data() + run.first / sign_block;
  }

  const kernels::KernelTable& kernels_ = kernels::kernel_table();
  ElementType type_;
  std::size_t count_;
  kernels::SignCounts counts_;
  kernels::SampleFormat sample_;
  std::shared_ptr<HugeBuffer> input_;
  HugeBuffer output_, state_, signs_, own_, sums_;
  std::vector<kernels::SignBlock> blocks_;
  std::vector<double> scales_;
};

}  // namespace

Workloads sign_workloads() {
  Workloads all;
  const auto add = [&](const std::string& name, ElementType type, std::uint32_t ranks, auto work) {
    all.push_back({"sign/" + name, [=](std::size_t bytes) {
                     auto data = std::make_shared<SignData>(type, bytes, ranks);
                     return [=] { work(*data); };
                   }});
  };
  constexpr auto f32 = ElementType::f32;
  for (const auto type : all_element_types) {
    const std::string suffix = "/" + std::string(name_of(type));
    add("measure" + suffix, type, 8, [](SignData& data) { data.measure(false); });
    add("pack" + suffix, type, 8, [](SignData& data) { data.pack(false); });
    add("pack_feedback" + suffix, type, 8, [](SignData& data) { data.pack(true); });
    add("expand" + suffix, type, 8, [](SignData& data) { data.expand(false); });
    add("expand_counts" + suffix, type, 8, [](SignData& data) { data.expand_counts(1); });
  }
  add("measure_feedback", f32, 8, [](SignData& data) { data.measure(true); });
  add("expand_compensation", f32, 8, [](SignData& data) { data.expand(true); });
  add("expand_counts_mean", f32, 8, [](SignData& data) { data.expand_counts(8); });
  for (const std::uint32_t ranks : {4, 8, 16}) {
    const std::string suffix = "_" + std::to_string(ranks);
    add("count" + suffix, f32, ranks, [](SignData& data) { data.count(); });
    add("majority" + suffix, f32, ranks, [](SignData& data) { data.majority(); });
    add("expand_counts" + suffix, f32, ranks, [](SignData& data) { data.expand_counts(1); });
  }
  for (const std::uint32_t ranks : {2, 3, 4, 8, 16}) {
    const std::string suffix = "_" + std::to_string(ranks);
    add("keep_own" + suffix, f32, ranks, [](SignData& data) { data.keep(); });
    add("gather_own" + suffix, f32, ranks, [](SignData& data) { data.gather(); });
    add("place" + suffix, f32, ranks, [](SignData& data) { data.place(); });
  }
  return all;
}

}  // namespace cohom::bench
