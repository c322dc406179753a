#include "codecs/common/index/sparse_options.hpp"

#include <string_view>

namespace cohom {
namespace {

constexpr std::string_view index_names[] = {"two-level", "flat", "bloom"};

constexpr ParameterInfo parameters[] = {
    {"index", "two-level", "two-level, flat or bloom",
     "two-level: which blocks of 512 elements have values, then a bit an element in those; flat: a "
     "bit an element; bloom: a Bloom filter, for few values that lie anywhere"},
    {"false_positives", "auto", "a number from 1/1048576 to 1/2",
     "index=bloom: about this share of the zeros travels as values (default 1/1024)"},
};

std::uint32_t read_probes(const ParameterReader& reader, IndexForm form) {
  if (!reader.given("false_positives")) return IndexOptions{}.probes;
  if (form != IndexForm::bloom) reader.reject("false_positives", "only index=bloom has any");
  const double wanted = reader.fraction("false_positives", 0x1p-20, 0.5);
  std::uint32_t probes = 1;
  for (double rate = 0.5; rate > wanted; rate /= 2) ++probes;
  return probes;
}

}  // namespace

std::span<const ParameterInfo> index_parameters() { return parameters; }

IndexOptions read_index_options(const ParameterReader& reader) {
  const auto form = static_cast<IndexForm>(reader.choice("index", index_names));
  return {.form = form, .probes = read_probes(reader, form)};
}

std::span<const ParameterInfo> sparse_parameters() { return index_parameters(); }

IndexOptions parse_sparse_options(const Parameters& given, std::string_view codec) {
  return read_index_options(ParameterReader(codec, sparse_parameters(), given));
}

}  // namespace cohom
