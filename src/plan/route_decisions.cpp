#include "plan/route_decisions.hpp"

#include "base/replaced_file.hpp"
#include "base/text.hpp"
#include "codecs/codec_table.hpp"
#include "codecs/common/parameters.hpp"
#include "plan/spec.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace cohom {

namespace {

/// 1: bytes were the least of a kind.
constexpr std::string_view first_line = "cohom-decisions 2";

constexpr std::string_view raw_prefix = "raw:";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, "decisions in " + path + ": " + why);
}

std::string reason_of(int error) { return std::strerror(error); }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

/// As calls have it, without parameters that have their defaults. @throws Error(invalid_argument)
/// for a codec that is none, and for a parameter that it does not have
std::string codec_of(std::string_view spec) {
  const Spec parsed = parse_spec(spec);
  const CodecRow& row = find_codec(parsed.name);
  static_cast<void>(ParameterReader(row.info.name, row.info.parameters, parsed.parameters));
  return canonical_spec(row, parsed.parameters);
}

/// Of a word of a line. @throws Error(invalid_argument) where it has no value
template <class T>
T value_of(const std::optional<T>& value, std::string_view word, const std::string& right) {
  if (value) return *value;
  throw Error(ErrorKind::invalid_argument,
              "\"" + printable(std::string(word)) + "\" should be " + right);
}

std::string_view way_of(std::string_view word, ReductionKind collective) {
  const bool is_allreduce = collective == ReductionKind::allreduce;
  if (word == RouteDecisions::native || word == RouteDecisions::own) return word;
  if (is_allreduce && named_way(word)) return word;
  return value_of(std::optional<std::string_view>(), word,
                  is_allreduce ? "native, own, " + algorithms_of_ranks() +
                                     ", or one of these algorithms with raw: before it"
                               : "native or own");
}

/// Of "4 thc f32 65536 native", an allreduce, or "4 thc f32 65536 native reduce_scatter".
/// @throws Error(invalid_argument) for a word that is wrong, and as codec_of() does
std::pair<CallKind, std::string_view> decision_of(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() != 5 && words.size() != 6)
    throw Error(ErrorKind::invalid_argument,
                counted(words.size(), "word") +
                    ", should be ranks, codec, type, bytes, way, and the collective if it is no "
                    "allreduce, with spaces between them: 4 thc f32 65536 native");
  const auto collective =
      value_of(words.size() == 6 ? reduction_kind_named(words[5]) : ReductionKind::allreduce,
               words.back(), "allreduce, reduce_scatter, reduce or allgather");
  const CallKind kind{
      .ranks = value_of(number_of<int>(words[0]), words[0], "a number of ranks"),
      .codec = codec_of(words[1]),
      .type = value_of(element_type_named(words[2]), words[2], "f32, f64, f16 or bf16"),
      .size = size_class(value_of(number_of<std::size_t>(words[3]), words[3],
                                  "a number of bytes, without a unit")),
      .collective = collective};
  return {kind, way_of(words[4], collective)};
}

/// Some editors end lines in two characters.
bool next_line(std::istream& lines, std::string& line) {
  if (!std::getline(lines, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

/// None: there is no such file.
std::optional<std::string> content_of(const std::string& path) {
  std::error_code none;
  if (const auto status = std::filesystem::status(path, none);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    refuse(path, "it is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    refuse(path, "it cannot be read: " + reason_of(errno));
  }
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) refuse(path, "it cannot be read");
  return content;
}

}  // namespace

std::string word_for(std::string_view algorithm, bool raw) {
  return (raw ? std::string(raw_prefix) : std::string()) + std::string(algorithm);
}

std::optional<NamedWay> named_way(std::string_view word) {
  const bool raw = word.starts_with(raw_prefix);
  const AlgorithmRow* const algorithm = find_algorithm(word.substr(raw ? raw_prefix.size() : 0));
  if (algorithm == nullptr || algorithm->needs_aggregator) return std::nullopt;
  return NamedWay{algorithm, raw};
}

std::optional<std::string> decisions_to_write(std::string_view text) {
  constexpr std::string_view prefix = "write:";
  if (!text.starts_with(prefix)) return std::nullopt;
  return std::string(text.substr(prefix.size()));
}

CallKind kind_of(const PlanShape& shape, int ranks, const std::string& codec) {
  return {.ranks = ranks,
          .codec = codec,
          .type = shape.type,
          .size = size_class(shape.elements(ranks) * size_of(shape.type)),
          .collective = shape.collective};
}

int size_class(std::size_t bytes) {
  if (bytes < 3) return 0;
  const std::size_t below = bytes - 1;
  const int power = static_cast<int>(std::bit_width(below)) - 1;
  return 2 * power + static_cast<int>((below >> (power - 1)) & 1);
}

std::size_t most_bytes(int size_class) {
  if (size_class < 2) return 2;
  const std::size_t power = std::size_t{1} << (size_class / 2);
  if (size_class % 2 == 0) return power + power / 2;
  return power <= std::numeric_limits<std::size_t>::max() / 2
             ? 2 * power
             : std::numeric_limits<std::size_t>::max();
}

RouteDecisions RouteDecisions::parse(std::string_view content, const std::string& path) {
  RouteDecisions decisions;
  std::istringstream lines{std::string(content)};
  std::string line;
  if (!next_line(lines, line) || line != first_line)
    refuse(path, "its first line should be \"" + std::string(first_line) + "\"");
  for (std::size_t number = 2; next_line(lines, line); ++number) {
    if (const std::size_t word = line.find_first_not_of(' ');
        word == std::string::npos || line[word] == '#')
      continue;
    const std::string which =
        "line " + std::to_string(number) + ", \"" + printable(line.substr(0, 80)) + "\": ";
    std::pair<CallKind, std::string_view> decision;
    try {
      decision = decision_of(line);
    } catch (const Error& error) {
      refuse(path, which + error.what());
    }
    const auto& [kind, way] = decision;
    const auto earlier = decisions.find(kind);
    if (earlier && *earlier != way)
      refuse(path, which + "a line before says " + *earlier + " for calls of this kind");
    decisions.set(kind, way);
  }
  return decisions;
}

RouteDecisions RouteDecisions::read(const std::string& path) {
  const auto content = content_of(path);
  if (!content) refuse(path, "there is no such file (COHOM_DECISIONS; write:FILE makes one)");
  return parse(*content, path);
}

RouteDecisions RouteDecisions::read_if_any(const std::string& path) {
  const auto content = content_of(path);
  return content && !content->empty() ? parse(*content, path) : RouteDecisions();
}

std::optional<std::string> RouteDecisions::find(const CallKind& kind) const {
  const auto found = ways_.find(kind);
  return found == ways_.end() ? std::nullopt : std::optional(found->second);
}

std::string RouteDecisions::content() const {
  std::ostringstream text;
  text << first_line
       << "\n# ranks, codec, type, bytes of the vector with all its parts (at most): which way "
          "such calls go\n";
  for (const auto& [kind, way] : ways_) {
    text << kind.ranks << ' ' << kind.codec << ' ' << name_of(kind.type) << ' '
         << most_bytes(kind.size) << ' ' << way;
    if (kind.collective != ReductionKind::allreduce) text << ' ' << name_of(kind.collective);
    text << '\n';
  }
  return text.str();
}

void RouteDecisions::add(const RouteDecisions& others) {
  for (const auto& [kind, way] : others.ways_) set(kind, way);
}

void RouteDecisions::check_writable(const std::string& path) {
  if (path.empty())
    throw Error(ErrorKind::invalid_argument, "COHOM_DECISIONS=write: names no file");
  if (const std::string why = why_not_replaceable(path); !why.empty()) refuse(path, why);
  static_cast<void>(read_if_any(path));
}

void RouteDecisions::add_to(const std::string& path) const {
  if (const std::string why = why_not_replaceable(path); !why.empty()) refuse(path, why);
  const FolderLock lock(path);  // another communicator may do the same
  if (lock.others_hold_it()) refuse(path, "another program keeps its folder locked");
  RouteDecisions all = read_if_any(path);
  all.add(*this);
  if (const std::string why = replace_file(path, all.content()); !why.empty()) refuse(path, why);
}

}  // namespace cohom
