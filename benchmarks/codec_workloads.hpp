#pragma once
// What codec_bench measures. A codec adds a list of workloads and one line in codec_bench.cpp.

#include "huge_buffer.hpp"

#include <cohom/element_type.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cohom::bench {

/// Something to measure on a vector of so many bytes. `prepare` gives what one repetition runs; it
/// owns its data.
struct Workload {
  std::string name;
  std::function<std::function<void()>(std::size_t bytes)> prepare;
  std::size_t vectors = 1;     ///< ranks' vectors of so many bytes that a repetition adds up
  std::size_t item_bytes = 0;  ///< not 0: items_per_second counts items of so many bytes
};
using Workloads = std::vector<Workload>;

Workloads exact_workloads();
Workloads merge_workloads();
Workloads packed_workloads();
Workloads sparse_workloads();
Workloads sign_workloads();
Workloads sketch_workloads();
Workloads thc_workloads();

/// Elements that the library hands to a kernel at a time.
inline constexpr std::size_t piece_elements = 64u << 10;

/// Calls visit(first element, elements) for every piece.
template <class Visit>
void for_each_piece(std::size_t elements, Visit visit) {
  for (std::size_t first = 0; first < elements; first += piece_elements)
    visit(first, std::min(piece_elements, elements - first));
}

/// A vector that looks like gradients: nearly normal, on scales that differ from block to block.
std::shared_ptr<HugeBuffer> random_vector(ElementType type, std::size_t bytes);

}  // namespace cohom::bench
