#include "codecs/common/composition.hpp"

#include "codecs/common/compacted.hpp"
#include "codecs/common/index/sparse_options.hpp"

#include <algorithm>

namespace cohom {
namespace {

bool is_of_sparse(std::string_view parameter) {
  return std::ranges::find(sparse_parameters(), parameter, &ParameterInfo::name) !=
         sparse_parameters().end();
}

}  // namespace

std::vector<ParameterInfo> SparseComposition::parameters() const {
  const auto sparse = sparse_parameters();
  std::vector<ParameterInfo> all(sparse.begin(), sparse.end());
  for (const ParameterInfo& parameter : inner().info.parameters)
    if (std::ranges::find(left_out, parameter.name) == left_out.end()) all.push_back(parameter);
  return all;
}

Parameters SparseComposition::of_inner(const Parameters& given) const {
  Parameters taken = given;
  std::erase_if(taken, [](const auto& parameter) { return is_of_sparse(parameter.first); });
  return taken;
}

std::unique_ptr<Codec> SparseComposition::make(const CodecContext& context) const {
  const std::vector<ParameterInfo> known = parameters();
  const ParameterReader reader(name, known, context.parameters);
  CodecContext of_values = context;
  of_values.parameters = of_inner(context.parameters);
  of_values.elements = 0;  // how many are left is not known
  Parameters of_index = context.parameters;
  std::erase_if(of_index, [](const auto& parameter) { return !is_of_sparse(parameter.first); });
  return std::make_unique<CompactedCodec>(context, name, parse_sparse_options(of_index),
                                          inner().make(of_values));
}

}  // namespace cohom
