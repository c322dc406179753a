// sparse: finding the elements that are not zero, gathering and spreading them, piece by piece.

#include "codec_workloads.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cstdint>
#include <cstring>

namespace cohom::bench {
namespace {

/// A vector in which a coin says which elements are not zero, its bitmap, and those elements.
class SparseData {
 public:
  SparseData(ElementType type, std::size_t bytes, double density)
      : size_(size_of(type)),
        count_(bytes / size_),
        vector_(random_vector(type, bytes)),
        compacted_(bytes),
        output_(bytes),
        bitmap_(bytes / size_ / 8 + 8) {
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      if (static_cast<double>(state >> 11) * 0x1p-53 >= density)
        std::memset(vector_->data() + i * size_, 0, size_);
    }
    scan();
    compact();
  }

  void scan() {
    for_each_run(
        [&](const kernels::SparseRun& run) { kernels_.scan(run, at(*vector_, run), bits(run)); });
  }
  void count_bits() {
    for_each_run([&](const kernels::SparseRun& run) {
      total_ += kernels_.count_bits(bits(run), kernels::bitmap_words(run.count));
    });
  }
  void compact() {
    for_each_run([&](const kernels::SparseRun& run) {
      kernels_.compact(run, at(*vector_, run), bits(run), at(compacted_, run));
    });
  }
  void expand() {
    for_each_run([&](const kernels::SparseRun& run) {
      kernels_.expand(run, at(compacted_, run), bits(run), at(output_, run));
    });
  }

 private:
  template <class Visit>
  void for_each_run(Visit visit) const {
    for_each_piece(count_, [&](std::size_t first, std::size_t count) {
      visit(kernels::SparseRun{size_, first, count});
    });
  }
  [[nodiscard]] std::byte* at(HugeBuffer& vector, const kernels::SparseRun& run) const {
    return vector.data() + run.first * size_;
  }
  [[nodiscard]] std::uint64_t* bits(const kernels::SparseRun& run) {
    return bitmap_.words() + run.first / 64;
  }

  const kernels::SparseKernels& kernels_ = kernels::kernel_table().sparse;
  std::size_t size_;
  std::size_t count_;
  std::shared_ptr<HugeBuffer> vector_;
  HugeBuffer compacted_, output_, bitmap_;
  std::size_t total_ = 0;
};

}  // namespace

Workloads sparse_workloads() {
  Workloads all;
  const auto add = [&](const std::string& name, ElementType type, double density, auto work) {
    all.push_back({"sparse/" + name, [=](std::size_t bytes) {
                     auto data = std::make_shared<SparseData>(type, bytes, density);
                     return [=] { work(*data); };
                   }});
  };
  const auto scan = [](SparseData& data) { data.scan(); };
  const auto compact = [](SparseData& data) { data.compact(); };
  const auto expand = [](SparseData& data) { data.expand(); };
  for (const auto type : {ElementType::f32, ElementType::f16, ElementType::f64}) {
    const std::string suffix = "/" + std::string(name_of(type));
    add("scan" + suffix, type, 0.05, scan);
    for (const auto& [text, density] : {std::pair{"/0.1%", 0.001}, {"/5%", 0.05}, {"/50%", 0.5}}) {
      add("compact" + suffix + text, type, density, compact);
      add("expand" + suffix + text, type, density, expand);
    }
  }
  add("count_bits", ElementType::f32, 0.05, [](SparseData& data) { data.count_bits(); });
  return all;
}

}  // namespace cohom::bench
