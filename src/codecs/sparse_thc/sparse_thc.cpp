#include "codecs/sparse_thc/sparse_thc.hpp"

#include "codecs/common/compacted_units.hpp"
#include "codecs/common/composition.hpp"
#include "codecs/common/index/union_bytes.hpp"
#include "codecs/thc/thc.hpp"

#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace cohom {

namespace {

constexpr std::string_view left_out[] = {"scale", "error_feedback"};
constexpr SparseComposition composition{"sparse+thc", thc_codec, left_out};

/// thc on the values of units, as if they were spread evenly.
std::optional<CodecBytes> sparse_thc_bytes(const BytesQuery& query) {
  if (!query.shape || query.elements == 0) return std::nullopt;
  const UnionBytes of = union_bytes(query.parameters, *query.shape);
  const std::size_t unit = CompactedUnits::length(number_of(query.parameters, "rotation", 256));
  const auto values = static_cast<std::size_t>(std::llround(of.values * static_cast<double>(unit)));
  const Parameters inner = composition.of_inner(query.parameters);
  const auto thc = bytes_of_rounds(make_thc, {.parameters = inner,
                                              .at_once = query.at_once,
                                              .elements = values,
                                              .type = query.type,
                                              .ranks = query.ranks});
  if (!thc) return std::nullopt;
  const auto of_unit = [&](const RunBytes& bytes) {
    return evenly(of.index + static_cast<double>(bytes(values)) / static_cast<double>(unit));
  };
  const auto growing = [of, thc, unit, values](std::size_t room, std::size_t elements) {
    const double a_unit =
        of.index * static_cast<double>(unit) + static_cast<double>(thc->partial_sum(room, values));
    return evenly(a_unit / static_cast<double>(unit))(elements);
  };
  const std::size_t units = (query.elements + unit - 1) / unit;
  return CodecBytes{.block = unit,
                    .contribution = of_unit(thc->contribution),
                    .sum = of_unit(thc->sum),
                    .growing = growing,
                    .agreement = of.agreement + units * thc->agreement,
                    .narrow = thc->narrow,
                    .promotes_some = thc->promotes_some};
}

constexpr CodecSample samples[] = {
    {.spec = "sparse+thc", .clamped = 0.009, .rounded = 0.017, .outlier_elements = 256},
    {.spec = "sparse+thc:index=flat,levels=full,rotation=64",
     .clamped = 0.0006,
     .rounded = 0.00017,
     .full_levels = true,
     .outlier_elements = 64}};

}  // namespace

std::unique_ptr<Codec> make_sparse_thc(const CodecContext& context) {
  return composition.make(context);
}

const CodecRow& sparse_thc_codec() {
  static const std::vector<ParameterInfo> parameters = composition.parameters();
  static const CodecRow row{
      .info = {composition.name, "thc on the elements that are not zero on some rank", parameters},
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
