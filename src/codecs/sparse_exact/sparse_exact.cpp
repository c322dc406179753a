#include "codecs/sparse_exact/sparse_exact.hpp"

#include "codecs/common/composition.hpp"
#include "codecs/exact/exact.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace cohom {
namespace {

constexpr std::string_view left_out[] = {"vectors"};
constexpr SparseComposition composition{"sparse+exact", exact_codec, left_out};

constexpr CodecSample samples[] = {
    {.spec = "sparse+exact", .rounds_once = true},
    {.spec = "sparse+exact:index=bloom,false_positives=1/64", .rounds_once = true}};

}  // namespace

const CodecRow& sparse_exact_codec() {
  static const std::vector<ParameterInfo> parameters = composition.parameters();
  static const CodecRow row{
      .info = {composition.name,
               "the bits of exact, of the elements that are not zero on some rank", parameters},
      .make = [](const CodecContext& context) { return composition.make(context); },
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) {
                       return complete(device.sparse) && complete(device.bloom) &&
                              complete(device.exact);
                     }},
      .samples = samples,
      .bounds_errors = exact_codec().bounds_errors,
      .bytes = exact_codec().bytes,
  };
  return row;
}

}  // namespace cohom
