#include "codecs/sparse_thc/sparse_thc.hpp"

#include "codecs/common/compacted.hpp"
#include "codecs/common/index/sparse_options.hpp"
#include "codecs/common/index/union_bytes.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_options.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
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

namespace {

struct SplitParameters {
  Parameters of_sparse, of_thc;
};

SplitParameters split(const Parameters& given) {
  SplitParameters parts;
  const auto is_of_sparse = [](std::string_view name) {
    return std::ranges::find(sparse_parameters(), name, &ParameterInfo::name) !=
           sparse_parameters().end();
  };
  for (const auto& [name, value] : given)
    (is_of_sparse(name) ? parts.of_sparse : parts.of_thc).emplace(name, value);
  return parts;
}

}  // namespace

std::unique_ptr<Codec> make_sparse_thc(const CodecContext& context) {
  const ParameterReader reader("sparse+thc", sparse_thc_parameters(), context.parameters);
  const SplitParameters parts = split(context.parameters);
  CodecContext inner = context;
  inner.parameters = parts.of_thc;
  return std::make_unique<CompactedCodec>(context, "sparse+thc",
                                          parse_sparse_options(parts.of_sparse), make_thc(inner));
}

namespace {

/// thc on the values of units, as if they were spread evenly.
std::optional<CodecBytes> sparse_thc_bytes(const BytesQuery& query) {
  if (!query.shape || query.elements == 0) return std::nullopt;
  const UnionBytes of = union_bytes(query.parameters, *query.shape);
  const std::size_t unit = CompactedUnits::length(number_of(query.parameters, "rotation", 256));
  const auto values = static_cast<std::size_t>(std::llround(of.values * static_cast<double>(unit)));
  const Parameters inner = split(query.parameters).of_thc;
  const auto thc = bytes_of_rounds(make_thc, {.parameters = inner,
                                              .at_once = query.at_once,
                                              .elements = values,
                                              .type = query.type,
                                              .ranks = query.ranks});
  if (!thc) return std::nullopt;
  const auto of_unit = [&](const RunBytes& bytes) {
    return evenly(of.index + static_cast<double>(bytes(values)) / static_cast<double>(unit));
  };
  const std::size_t units = (query.elements + unit - 1) / unit;
  return CodecBytes{.block = unit,
                    .contribution = of_unit(thc->contribution),
                    .sum = of_unit(thc->sum),
                    .agreement = of.agreement + units * thc->agreement,
                    .narrow = thc->narrow};
}

constexpr CodecSample samples[] = {
    {.spec = "sparse+thc", .clamped = 0.009, .rounded = 0.017, .outlier_elements = 256},
    {.spec = "sparse+thc:index=flat,levels=full,rotation=64",
     .clamped = 0.0006,
     .rounded = 0.00017,
     .full_levels = true,
     .outlier_elements = 64}};

}  // namespace

const CodecRow& sparse_thc_codec() {
  static const CodecRow row{
      .info = {"sparse+thc", "thc on the elements that are not zero on some rank",
               sparse_thc_parameters()},
      .make = make_sparse_thc,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) {
                       return complete(device.sparse) && complete(device.bloom) &&
                              complete(device.thc);
                     }},
      .samples = samples,
      .bytes = sparse_thc_bytes,
  };
  return row;
}

}  // namespace cohom
