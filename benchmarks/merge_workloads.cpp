// Merges of two payloads as large as the vector, beside a plain loop over 64-bit words.

#include "codec_workloads.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cohom/merge.hpp>

#include <cstdint>

namespace cohom::bench {
namespace {

struct Payloads {
  explicit Payloads(std::size_t bytes) : a(bytes), b(bytes) {}
  HugeBuffer a, b;
};

/// A vector add as a compiler writes it, 64 KiB of words at a time as the kernels get them.
void add_words(std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i) a[i] += b[i];
}

}  // namespace

Workloads merge_workloads() {
  Workloads all;
  const auto add = [&](const std::string& name, auto merge) {
    all.push_back({"merge/" + name, [=](std::size_t bytes) {
                     auto data = std::make_shared<Payloads>(bytes);
                     return [=] {
                       for_each_piece(bytes / 8, [&](std::size_t first, std::size_t words) {
                         merge(data->a.words() + first, data->b.words() + first, words);
                       });
                     };
                   }});
  };
  const auto kernel = [](Merge merge) {
    return [merge](std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
      const void* sources[] = {a, b};
      kernels::kernel_table().merge(merge, sources, 2, 8 * words, a);
    };
  };
  add("plain_loop", add_words);
  add("add", kernel({MergeKind::add}));
  add("or", kernel({MergeKind::bit_or}));
  add("max", kernel({MergeKind::max}));
  add("max8", kernel({MergeKind::max8}));
  add("max16", kernel({MergeKind::max16}));
  for (const auto type : all_element_types)
    add("add_float/" + std::string(name_of(type)), kernel({MergeKind::add_float, type}));
  add("finish/f32", [](std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    kernels::kernel_table().finish_elements(ElementType::f32, b, 2 * words, 4, a);
  });
  return all;
}

}  // namespace cohom::bench
