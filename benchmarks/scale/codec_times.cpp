#include "scale/codec_times.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace cohom::bench {
namespace {

constexpr std::string_view size_of_rows = "/4096K";
constexpr double elements_of_rows = 1 << 20;  // f32
constexpr double bytes_of_rows = 4 << 20;
constexpr double packed_bytes_an_element = 5.0 / 8;  // what codec_bench merges

/// Nanoseconds a run.
const std::pair<const std::string, Nanoseconds> two_cores[] = {
    {"merge/add/4096K", 286597},          {"merge/add_float/f32/4096K", 286793},
    {"thc/measure/f32/4096K", 143638},    {"thc/encode/f32/4096K", 324734},
    {"thc/widen_8/4096K", 178709},        {"thc/decode/f32/4096K", 188763},
    {"packed/measure/f32/4096K", 143063}, {"packed/encode_dither/f32/4096K", 241815},
    {"packed/merge_8/4096K", 344842},     {"packed/decode/f32/4096K", 184573},
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) throw std::runtime_error(fmt::format("--codec-times {} cannot be read", path));
  return text;
}

}  // namespace

MeasuredTimes::MeasuredTimes()
    : path_("default"), rows_(std::begin(two_cores), std::end(two_cores)) {}

MeasuredTimes::MeasuredTimes(const std::string& path) : path_(path) {
  try {
    for (const auto& row : nlohmann::json::parse(content_of(path)).at("benchmarks"))
      rows_.emplace(row.at("name").get<std::string>(), row.at("real_time").get<double>());
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(
        fmt::format("--codec-times {} is no JSON of codec_bench: {}", path, error.what()));
  }
}

Nanoseconds MeasuredTimes::element(std::string_view row) const {
  const auto found = rows_.find(std::string(row) + std::string(size_of_rows));
  if (found == rows_.end())
    throw std::runtime_error(
        fmt::format("--codec-times {} has no row {}{}", path_, row, size_of_rows));
  return found->second / elements_of_rows;
}

CodecTimes MeasuredTimes::of(std::string_view codec) const {
  if (const auto found = measured_.find(codec); found != measured_.end()) return found->second;
  constexpr double bytes_an_element = bytes_of_rows / elements_of_rows;
  if (codec == "raw") return {.add_wide = element("merge/add_float/f32") / bytes_an_element};
  if (codec == "thc")
    return {.agree = element("thc/measure/f32"),
            .encode = element("thc/encode/f32"),
            .add_narrow = element("thc/widen_8") / 8,
            .add_wide = element("merge/add") / bytes_an_element,
            .decode = element("thc/decode/f32")};
  if (codec == "packed")
    return {.agree = element("packed/measure/f32"),
            .encode = element("packed/encode_dither/f32"),
            .add_narrow = element("packed/merge_8") / 8,
            .add_wide = element("packed/merge_8") / 8 / packed_bytes_an_element,
            .decode = element("packed/decode/f32")};
  throw std::runtime_error(fmt::format("--codec-times knows raw, thc and packed, not {}", codec));
}

}  // namespace cohom::bench
