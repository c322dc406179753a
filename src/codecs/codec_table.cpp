#include "codecs/codec_table.hpp"

#include "base/text.hpp"
#include "codecs/exact/exact.hpp"
#include "codecs/lowrank/lowrank.hpp"
#include "codecs/marsit/marsit.hpp"
#include "codecs/packed/packed.hpp"
#include "codecs/raw/raw.hpp"
#include "codecs/signcount/signcount.hpp"
#include "codecs/sketch/sketch.hpp"
#include "codecs/sparse/sparse.hpp"
#include "codecs/sparse_exact/sparse_exact.hpp"
#include "codecs/sparse_thc/sparse_thc.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/topk/topk.hpp"

#include <cohom/error.hpp>

#include <vector>

namespace cohom {

std::span<const CodecRow> codec_table() {
  static const CodecRow rows[] = {raw_codec(),       packed_codec(),     sketch_codec(),
                                  sparse_codec(),    sparse_thc_codec(), sparse_exact_codec(),
                                  topk_codec(),      lowrank_codec(),    thc_codec(),
                                  signcount_codec(), marsit_codec(),     exact_codec()};
  return rows;
}

std::span<const CodecInfo> codecs() {
  static const std::vector<CodecInfo> infos = [] {
    std::vector<CodecInfo> list;
    for (const auto& row : codec_table()) list.push_back(row.info);
    return list;
  }();
  return infos;
}

const CodecRow& find_codec(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& row : codec_table()) {
    if (row.info.name == name) return row;
    names.push_back(row.info.name);
  }
  throw Error(ErrorKind::invalid_argument, "codec \"" + std::string(name) + "\" is unknown" +
                                               suggestion(name, names) +
                                               "; codecs: " + listed(names));
}

std::string canonical_spec(const CodecRow& row, const Parameters& given) {
  std::string spec(row.info.name);
  char separator = ':';
  for (const auto& parameter : row.info.parameters) {
    const auto found = given.find(parameter.name);
    if (found == given.end() || found->second == parameter.default_value) continue;
    spec += separator + found->first + "=" + found->second;
    separator = ',';
  }
  return spec;
}

}  // namespace cohom
