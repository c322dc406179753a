// sketch: placing, filling and peeling, instance by instance as the codec does it.

#include "codec_workloads.hpp"
#include "kernels/sketch/sketch.hpp"
#include "kernels/table/kernel_table.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::bench {
namespace {

/// Items of a union and the cells of their sketches, 1.3 an item.
template <class Cell>
class SketchData {
 public:
  explicit SketchData(std::size_t items)
      : instances_(items / items_of_instance),
        values_(instances_ * items_of_instance * sizeof(Cell)),
        cells_(instances_ * shape(0).cells() * sizeof(Cell)),
        places_(items_of_instance),
        peeled_(shape(0).cells()),
        found_(items_of_instance),
        known_(items_of_instance) {
    for (std::size_t i = 0; i < instances_ * items_of_instance; ++i)
      values()[i] = static_cast<Cell>(i % 1000 + 1);
    scratch_.reserve(shape(0).cells());
    insert();
  }

  void insert() {
    for (std::size_t i = 0; i < instances_; ++i) {
      const std::span<Cell> cells = cells_of(i);
      std::ranges::fill(cells, Cell{});
      placing_.places(shape(i), nullptr, items_of_instance, places_.data());
      kernels::sketch_insert<Cell>(places_, values() + i * items_of_instance, cells.data());
    }
  }
  void peel() {
    for (std::size_t i = 0; i < instances_; ++i) {
      std::ranges::copy(cells_of(i), peeled_.begin());
      placing_.places(shape(i), nullptr, items_of_instance, places_.data());
      kernels::sketch_peel<Cell>(places_, peeled_, scratch_, known_.data(), found_.data());
    }
  }

 private:
  static constexpr std::size_t items_of_instance = 8192;

  static kernels::SketchShape shape(std::size_t instance) {
    return {.row = static_cast<std::uint32_t>(1.3 * items_of_instance / 3) + 1, .key = instance};
  }
  Cell* values() { return reinterpret_cast<Cell*>(values_.data()); }
  std::span<Cell> cells_of(std::size_t instance) {
    const std::size_t count = shape(0).cells();
    return {reinterpret_cast<Cell*>(cells_.data()) + instance * count, count};
  }

  const kernels::PlacingKernels& placing_ = kernels::kernel_table().placing;
  std::size_t instances_;
  HugeBuffer values_, cells_;
  std::vector<kernels::SketchPlace> places_;
  std::vector<Cell> peeled_, found_;
  std::vector<std::uint8_t> known_;
  kernels::SketchScratch scratch_{placing_};
};

/// A filter of a piece with few values, 10 probes, and where it finds them.
class FilterData {
 public:
  explicit FilterData(std::size_t elements)
      : elements_(elements), own_(elements / 8), found_(elements / 8), filter_(shape_.bits / 64) {
    for (std::size_t i = 0; i < piece_elements; i += 1024) own_.words()[i / 64] = 1;
    bloom_.insert(shape_, 0, own_.words(), piece_elements, filter_.data());
  }
  void find() {
    for_each_piece(elements_, [&](std::size_t first, std::size_t count) {
      bloom_.find(shape_, filter_.data(), first, count, found_.words() + first / 64);
    });
  }

 private:
  const kernels::BloomKernels& bloom_ = kernels::kernel_table().bloom;
  kernels::BloomShape shape_{.bits = piece_elements / 1024 * 15 / 64 * 64, .probes = 10, .key = 1};
  std::size_t elements_;
  HugeBuffer own_, found_;
  std::vector<std::uint64_t> filter_;
};

template <class Cell>
void add_of(Workloads& all, const std::string& name) {
  const auto add = [&](const std::string& what, void (SketchData<Cell>::*work)()) {
    all.push_back({.name = "sketch/" + what + "/" + name,
                   .prepare =
                       [=](std::size_t bytes) {
                         auto data = std::make_shared<SketchData<Cell>>(bytes / sizeof(Cell));
                         return [=] { ((*data).*work)(); };
                       },
                   .item_bytes = sizeof(Cell)});
  };
  add("insert", &SketchData<Cell>::insert);
  add("peel", &SketchData<Cell>::peel);
}

}  // namespace

Workloads sketch_workloads() {
  Workloads all;
  add_of<std::uint64_t>(all, "i64");
  add_of<float>(all, "f32");
  all.push_back({.name = "bloom/find",
                 .prepare =
                     [](std::size_t bytes) {
                       auto data = std::make_shared<FilterData>(bytes / 4);
                       return [=] { data->find(); };
                     },
                 .item_bytes = 4});
  return all;
}

}  // namespace cohom::bench
