#include "library_info.hpp"

#include "base/text.hpp"
#include "codecs/codec_table.hpp"
#include "kernels/core/isa.hpp"
#include "memory/device_loader.hpp"
#include "plan/auto_codec.hpp"
#include "plan/selector.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "transport/registry.hpp"

#include <cohom/codec.hpp>
#include <cohom/element_type.hpp>
#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace cohom::bench {
namespace {

using Json = nlohmann::ordered_json;

Json codec_list() {
  Json list = Json::array();
  for (const CodecInfo& codec : codecs()) {
    Json parameters = Json::array();
    for (const ParameterInfo& parameter : codec.parameters)
      parameters.push_back({{"name", parameter.name},
                            {"default", parameter.default_value},
                            {"range", parameter.range},
                            {"summary", parameter.summary}});
    list.push_back({{"name", codec.name},
                    {"summary", codec.summary},
                    {"parameters", parameters},
                    {"threads", find_codec(codec.name).in_workers},
                    {"parts", find_codec(codec.name).decodes_parts}});
  }
  return list;
}

Json algorithm_list() {
  Json list = Json::array();
  for (const AlgorithmRow& row : algorithm_table())
    list.push_back({{"name", row.name}, {"summary", row.summary}});
  list.push_back({{"name", native_algorithm.name}, {"summary", native_algorithm.summary}});
  return list;
}

Json transport_list() {
  Json list = Json::array();
  list.push_back({{"name", "loopback"}, {"summary", "ranks as threads of one process; for tests"}});
  constexpr std::string_view built[] = {"loopback", COHOM_TRANSPORTS};
  for (const TransportRow& row : transport_table())
    if (std::ranges::find(built, row.name) != std::end(built))
      list.push_back({{"name", row.name}, {"summary", row.summary}});
  return list;
}

/// What a device would do here, if there is one: codecs whose calls run on it, and with what
/// parameters only.
Json device_info() {
  const kernels::DeviceLibrary* const library = device_library();
  if (library == nullptr) return {{"library", nullptr}, {"why", why_no_device()}};
  Json names = Json::array(), there = Json::array(), only = Json::object();
  for (int device = 0; device < library->runtime->devices(); ++device)
    names.push_back(library->runtime->device_name(device));
  for (const CodecRow& codec : codec_table())
    if (codec.device.has_kernels != nullptr && codec.device.has_kernels(*library->kernels)) {
      there.push_back(codec.info.name);
      if (!codec.device.only.empty()) only[std::string(codec.info.name)] = codec.device.only;
    }
  return {{"library", library->runtime->name()},
          {"versions", library->runtime->versions()},
          {"code", library->code},
          {"devices", names},
          {"codecs", there},
          {"only", only}};
}

std::string device_text(const Json& info) {
  if (info["library"].is_null()) return fmt::format("  none: {}\n", info["why"].get<std::string>());
  std::string text = fmt::format("  {}\n", info["versions"].get<std::string>());
  for (const Json& name : info["devices"])
    text += fmt::format("  {}: {}\n", info["library"].get<std::string>(), name.get<std::string>());
  text += "  codecs that run there:";
  for (const Json& codec : info["codecs"]) {
    text += " " + codec.get<std::string>();
    const auto only = info["only"].find(codec.get<std::string>());
    if (only != info["only"].end()) text += " (with " + only->get<std::string>() + ")";
  }
  return text + "; the others run on the host, on copies\n";
}

template <class Number>
Json limit(Number value) {
  return value == std::numeric_limits<Number>::max() ? Json(nullptr) : Json(value);
}

Json selection_rows() {
  Json list = Json::array();
  for (const SelectionRow& row : selection_table())
    list.push_back({{"max_bytes", limit(row.max_bytes)},
                    {"max_bytes_a_rank", limit(row.max_bytes_a_rank)},
                    {"min_ranks", row.min_ranks},
                    {"max_ranks", limit(row.max_ranks)},
                    {"several_a_node", row.several_a_node},
                    {"between_nodes", row.between_nodes},
                    {"on_board", row.on_board},
                    {"only_allreduce", row.only_allreduce},
                    {"only_raw", row.codec == "raw"},
                    {"codec", row.codec.empty() ? Json(nullptr) : Json(row.codec)},
                    {"offloads", row.offloads},
                    {"bypass", row.bypass},
                    {"algorithm", row.algorithm},
                    {"third", row.third.empty() ? Json(nullptr) : Json(row.third)},
                    {"third_raw", row.third_raw},
                    {"reason", row.reason}});
  return list;
}

/// Calls of which codec=auto:nmse= is shown.
struct AutoCase {
  std::string_view name;
  std::size_t elements;
  ElementType type;
  std::string_view algorithm;
};

constexpr AutoCase auto_cases[] = {
    {"16 MiB f32", 4 << 20, ElementType::f32, "auto"},
    {"8 KiB f32 by direct", 2048, ElementType::f32, "direct"},
    {"16 MiB f32 by offload", 4 << 20, ElementType::f32, "offload"},
    {"16 MiB f16", 8 << 20, ElementType::f16, "auto"},
    {"16 MiB bf16", 8 << 20, ElementType::bf16, "auto"},
};
constexpr int auto_ranks = 8;

/// What codec=auto:nmse= takes; null: no codec keeps it.
Json auto_codec_rows() {
  Json list = Json::array();
  for (const char* nmse : {"0.1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7"})
    for (const AutoCase& one : auto_cases) {
      Json codec;
      try {
        codec = choose_codec(std::string("auto:nmse=") + nmse, {.algorithm = one.algorithm,
                                                                .elements = one.elements,
                                                                .type = one.type,
                                                                .ranks = auto_ranks})
                    .spec;
      } catch (const Error&) {
        codec = nullptr;
      }
      list.push_back({{"nmse", nmse},
                      {"call", one.name},
                      {"elements", one.elements},
                      {"type", name_of(one.type)},
                      {"algorithm", one.algorithm},
                      {"ranks", auto_ranks},
                      {"codec", codec}});
    }
  return list;
}

std::string auto_codec_text(const Json& rows) {
  std::string text = fmt::format(
      "\ncodec=auto:nmse=... takes the codec of the fewest bytes that keeps this error; on {} "
      "ranks:\n  {:<9}",
      auto_ranks, "nmse");
  for (const AutoCase& one : auto_cases) text += fmt::format("  {}", one.name);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t column = row % std::size(auto_cases);
    if (column == 0) text += fmt::format("\n  {:<9}", rows[row]["nmse"].get<std::string>());
    const Json& codec = rows[row]["codec"];
    const std::string name = codec.is_null() ? "none" : codec.get<std::string>();
    text += fmt::format("  {:<{}}", name.substr(0, name.find(':')), auto_cases[column].name.size());
  }
  return text + "\n";
}

/// Two columns: names as wide as the longest, and what they mean.
std::string name_list(const Json& list, std::string_view indent) {
  std::size_t width = 0;
  for (const Json& item : list)
    width = std::max(width, item["name"].get_ref<const std::string&>().size());
  std::string text;
  for (const Json& item : list)
    text += fmt::format("{}{:<{}}  {}\n", indent, item["name"].get<std::string>(), width,
                        item["summary"].get<std::string>());
  return text;
}

std::string codec_text(const Json& codec) {
  std::string text = fmt::format("  {}: {}\n", codec["name"].get<std::string>(),
                                 codec["summary"].get<std::string>());
  for (const Json& parameter : codec["parameters"])
    text +=
        fmt::format("    {} = {}: {}\n        {}\n", parameter["name"].get<std::string>(),
                    parameter["default"].get<std::string>(), parameter["range"].get<std::string>(),
                    parameter["summary"].get<std::string>());
  return text;
}

std::string ranks_text(const Json& row) {
  const auto least = row["min_ranks"].get<unsigned>();
  if (row["max_ranks"].is_null())
    return least == 1 ? "any ranks" : "from " + counted(least, "rank");
  const auto most = row["max_ranks"].get<unsigned>();
  return least == most ? counted(least, "rank") : fmt::format("{} to {} ranks", least, most);
}

/// "raw only, shared nodes"
std::string conditions_text(const Json& row) {
  std::vector<std::string> conditions;
  if (row["codec"].is_string()) conditions.push_back(row["codec"].get<std::string>() + " only");
  if (row["several_a_node"].get<bool>())
    conditions.emplace_back("shared nodes");
  else if (row["between_nodes"].get<bool>())
    conditions.emplace_back("several nodes");
  if (row["on_board"].get<bool>()) conditions.emplace_back("one node");
  if (row["only_allreduce"].get<bool>()) conditions.emplace_back("allreduce");
  if (row["offloads"].get<bool>()) conditions.emplace_back("attached");
  return fmt::to_string(fmt::join(conditions, ", "));
}

/// Of a race; empty: there is none.
std::string third_text(const Json& row) {
  if (row["third"].is_null()) return "";
  const bool raw = row["third_raw"].get<bool>(), bypass = row["bypass"].get<bool>();
  return fmt::format(", in a race also {}{}{}", raw ? "raw by " : "",
                     row["third"].get<std::string>(), bypass ? ", compressed" : "");
}

std::string selection_text(const Json& row) {
  const std::string size =
      row["max_bytes"].is_null()
          ? "any size"
          : fmt::format("up to {} KiB", row["max_bytes"].get<std::size_t>() / 1024);
  return fmt::format("  {:<15}  {:<15}  {:<34}  {}{}{}: {}\n", size, ranks_text(row),
                     conditions_text(row), row["bypass"].get<bool>() ? "raw by " : "",
                     row["algorithm"].get<std::string>(), third_text(row),
                     row["reason"].get<std::string>());
}

}  // namespace

Json library_info() {
  Json supported = Json::array();
  for (const kernels::Isa isa : kernels::supported_isas()) supported.push_back(name_of(isa));
  return {{"version", version_string},
          {"wire_format", wire_format_version},
          {"isa", {{"supported", supported}, {"active", name_of(kernels::active_isa())}}},
          {"codecs", codec_list()},
          {"algorithms", algorithm_list()},
          {"selection", selection_rows()},
          {"auto_codec", auto_codec_rows()},
          {"transports", transport_list()},
          {"device", device_info()}};
}

std::string library_text(const Json& info) {
  std::string isas;
  for (const Json& isa : info["isa"]["supported"]) isas += " " + isa.get<std::string>();
  std::string text =
      fmt::format("cohom {}, wire format {}\ninstruction sets:{}; active: {} (COHOM_ISA)\n",
                  info["version"].get<std::string>(), info["wire_format"].get<int>(), isas,
                  info["isa"]["active"].get<std::string>());
  text += "\ncodecs, with parameter = default: range (COHOM_CODEC)\n";
  for (const Json& codec : info["codecs"]) text += codec_text(codec);
  text += "\nalgorithms (COHOM_ALGORITHM)\n" + name_list(info["algorithms"], "  ");
  text += "\nalgorithm=auto takes the first row that applies\n";
  for (const Json& row : info["selection"]) text += selection_text(row);
  text += auto_codec_text(info["auto_codec"]);
  text += "\ntransports (COHOM_TRANSPORT)\n" + name_list(info["transports"], "  ");
  text +=
      "\nof calls\n"
      "  COHOM_TIMEOUT: seconds without progress that are an error (0: never)\n"
      "  COHOM_CHECKSUM: off, on (messages between ranks carry checksums)\n"
      "  COHOM_THREADS: auto, 0 to 255 (threads that encode, merge and decode beside the "
      "caller's)\n";
  text += "    with codecs:";
  for (const Json& codec : info["codecs"])
    if (codec["threads"].get<bool>()) text += " " + codec["name"].get<std::string>();
  text += "\n  parts of a sum (reduce_scatter, reduce) take fewer bytes with codecs:";
  for (const Json& codec : info["codecs"])
    if (codec["parts"].get<bool>()) text += " " + codec["name"].get<std::string>();
  text += "\n  COHOM_PROGRESS: call, thread (a thread of the library advances calls, too)\n";
  text += "\ndevices (docs/gpu.md)\n" + device_text(info["device"]);
  return text;
}

}  // namespace cohom::bench
