#include "codecs/sparse_thc/sparse_thc.hpp"

#include "codecs/common/compacted.hpp"
#include "codecs/common/index/sparse_options.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_options.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cohom {

std::span<const ParameterInfo> sparse_thc_parameters() {
  static const std::vector<ParameterInfo> all = [] {
    const auto sparse = sparse_parameters();
    std::vector<ParameterInfo> parameters(sparse.begin(), sparse.end());
    for (const ParameterInfo& parameter : thc_parameters())
      if (parameter.name != "scale" && parameter.name != "error_feedback")
        parameters.push_back(parameter);
    return parameters;
  }();
  return all;
}

std::unique_ptr<Codec> make_sparse_thc(const CodecContext& context) {
  const ParameterReader reader("sparse+thc", sparse_thc_parameters(), context.parameters);
  Parameters of_sparse, of_thc;
  const auto is_of_sparse = [](std::string_view name) {
    return std::ranges::find(sparse_parameters(), name, &ParameterInfo::name) !=
           sparse_parameters().end();
  };
  for (const auto& [name, value] : context.parameters)
    (is_of_sparse(name) ? of_sparse : of_thc).emplace(name, value);
  CodecContext inner = context;
  inner.parameters = of_thc;
  return std::make_unique<CompactedCodec>(context, parse_sparse_options(of_sparse),
                                          make_thc(inner));
}

}  // namespace cohom
