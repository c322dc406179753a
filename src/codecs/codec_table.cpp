#include "codecs/codec_table.hpp"

#include "base/text.hpp"
#include "codecs/common/index/sparse_options.hpp"
#include "codecs/marsit/marsit.hpp"
#include "codecs/marsit/marsit_options.hpp"
#include "codecs/packed/packed.hpp"
#include "codecs/packed/packed_options.hpp"
#include "codecs/raw/raw.hpp"
#include "codecs/signcount/signcount.hpp"
#include "codecs/signcount/signcount_options.hpp"
#include "codecs/sketch/sketch.hpp"
#include "codecs/sketch/sketch_options.hpp"
#include "codecs/sparse/sparse.hpp"
#include "codecs/sparse_thc/sparse_thc.hpp"
#include "codecs/thc/thc.hpp"
#include "codecs/thc/thc_options.hpp"

#include <cohom/error.hpp>

#include <vector>

namespace cohom {

std::span<const CodecRow> codec_table() {
  static const CodecRow rows[] = {
      {{"raw", "the vector itself: baseline, exact up to the order of additions", raw_parameters()},
       make_raw},
      {{"packed", "integers of one step in mini-blocks of their own width: least error a byte",
        packed_parameters()},
       make_packed,
       {},
       packed_bounds_errors},
      {{"sketch", "the same as a count sketch that is peeled: adds in the network, lossless",
        sketch_parameters()},
       make_sketch,
       {sketch_has_integers, "cells=i64"}},
      {{"sparse", "the elements that are not zero on every rank: every bit of raw's sum",
        sparse_parameters()},
       make_sparse},
      {{"sparse+thc", "thc on the elements that are not zero on every rank",
        sparse_thc_parameters()},
       make_sparse_thc},
      {{"thc", "rotated, 4-bit quantised gradients whose lanes add in the network (NSDI'24)",
        thc_parameters()},
       make_thc},
      {{"signcount", "one bit a value up, exact counts of signs or a majority vote down",
        signcount_parameters()},
       make_signcount},
      {{"marsit", "one bit a value through every hop: signs of ranks chosen at random (DAC'22)",
        marsit_parameters()},
       make_marsit},
  };
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
