#include "kernels/table/kernel_table.hpp"

#include "kernels/exact/cpu/exact_rows.hpp"
#include "kernels/merge/cpu/merge_rows.hpp"
#include "kernels/packed/cpu/packed_rows.hpp"
#include "kernels/sample/cpu/sample_rows.hpp"
#include "kernels/sign/cpu/sign_rows.hpp"
#include "kernels/sketch/cpu/placing_rows.hpp"
#include "kernels/sketch/cpu/sketch_row.hpp"
#include "kernels/sparse/cpu/bloom_rows.hpp"
#include "kernels/sparse/cpu/sparse_rows.hpp"
#include "kernels/table/block_rows.hpp"
#include "kernels/thc/cpu/thc_rows.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cohom::kernels {
namespace {

KernelTable row_of(Isa isa) {
  if (isa == Isa::scalar)
    return {isa,           scalar_merge,       scalar_finish_elements, scalar_widen,
            scalar_thc(),  scalar_packed(),    scalar_exact(),         scalar_sparse(),
            scalar_sign(), scalar_sample(),    scalar_bloom(),         scalar_placing(),
            cpu_sketch(),  scalar_block_rows()};
  const auto merge = highway_merge(isa);
  return {isa,
          merge.merge,
          merge.finish_elements,
          merge.widen,
          highway_thc(isa),
          highway_packed(isa),
          highway_exact(isa),
          highway_sparse(isa),
          highway_sign(isa),
          highway_sample(isa),
          highway_bloom(isa),
          highway_placing(isa),
          cpu_sketch(),
          vector_block_rows(isa)};
}

std::vector<KernelTable> supported_rows() {
  std::vector<KernelTable> rows;
  for (auto isa : supported_isas()) rows.push_back(row_of(isa));
  return rows;
}

}  // namespace

const KernelTable& kernel_table(Isa isa) {
  static const std::vector<KernelTable> rows = supported_rows();
  const auto row = std::ranges::find(rows, isa, &KernelTable::isa);
  if (row == rows.end())
    throw Error(ErrorKind::unsupported,
                "instruction set " + std::string(name_of(isa)) + " is not supported here");
  return *row;
}

const KernelTable& kernel_table() {
  static const KernelTable& active = kernel_table(active_isa());
  return active;
}

}  // namespace cohom::kernels
