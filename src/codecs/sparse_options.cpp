#include "codecs/sparse_options.hpp"

#include <string_view>

namespace cohom {
namespace {

constexpr std::string_view index_names[] = {"two-level", "flat"};

constexpr ParameterInfo parameters[] = {
    {"index", "two-level", "two-level or flat",
     "two-level: which blocks of 512 elements have values, then a bit an element in those; flat: a "
     "bit an element"},
};

}  // namespace

std::span<const ParameterInfo> sparse_parameters() { return parameters; }

SparseOptions parse_sparse_options(const Parameters& given) {
  const ParameterReader reader("sparse", parameters, given);
  return {.index =
              reader.choice("index", index_names) == 0 ? IndexForm::two_level : IndexForm::flat};
}

}  // namespace cohom
