#include "codecs/topk/topk_options.hpp"

#include "codecs/common/index/sparse_options.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace cohom {
namespace {

constexpr std::string_view select_names[] = {"exact", "threshold"};

constexpr ParameterInfo own_parameters[] = {
    {"fraction", "0.01", "a fraction or decimal from 0.000001 to 1",
     "share of its elements that each rank contributes, those of largest magnitude"},
    {"select", "exact", "exact or threshold",
     "exact: so many elements; threshold: those above a magnitude that is estimated, half to twice "
     "as many"},
    {"error_feedback", "off", "on or off",
     "add what earlier calls left out to this call's vector (needs state)"},
};

bool is_own(std::string_view name) {
  return std::ranges::find(own_parameters, name, &ParameterInfo::name) !=
         std::ranges::end(own_parameters);
}

}  // namespace

std::size_t TopkOptions::elements_of(std::size_t elements) const {
  const double wanted = std::ceil(fraction * static_cast<double>(elements));
  return std::min(elements, static_cast<std::size_t>(wanted));
}

std::span<const ParameterInfo> topk_parameters() {
  static const auto all = [] {
    const auto index = sparse_parameters();
    std::vector<ParameterInfo> list(std::begin(own_parameters), std::end(own_parameters));
    list.insert(list.end(), index.begin(), index.end());
    return list;
  }();
  return all;
}

TopkOptions parse_topk_options(const Parameters& given) {
  const ParameterReader reader("topk", topk_parameters(), given);
  TopkOptions options;
  options.fraction = reader.fraction("fraction", 1e-6, 1);
  options.select = static_cast<TopkOptions::Select>(reader.choice("select", select_names));
  options.error_feedback = reader.on("error_feedback");
  return options;
}

Parameters sparse_parameters_of_topk(const Parameters& given) {
  Parameters of_sparse = given;
  std::erase_if(of_sparse, [](const auto& parameter) { return is_own(parameter.first); });
  return of_sparse;
}

}  // namespace cohom
