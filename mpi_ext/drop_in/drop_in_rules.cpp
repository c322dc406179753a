#include "mpi_ext/drop_in/drop_in_rules.hpp"

#include "base/environment.hpp"
#include "base/tags.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>
#include <cohom/rounds.hpp>

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

namespace cohom::mpi {

namespace {

constexpr std::string_view blanks = " \t\r";

[[noreturn]] void refuse(std::string_view word, std::string_view wanted) {
  throw Error(ErrorKind::invalid_argument, "COHOM_DROP_IN: \"" + printable(std::string(word)) +
                                               "\" should be " + std::string(wanted));
}

NumberRange parse_range(std::string_view word, std::string_view value) {
  constexpr std::string_view wanted =
      "a range FROM:TO of numbers like 64K, which begins with FROM and ends before TO; either may "
      "be left out";
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos) refuse(word, wanted);
  NumberRange range;
  const std::string_view first = value.substr(0, colon), end = value.substr(colon + 1);
  const auto read = [&](std::string_view text, std::uint64_t& number) {
    if (text.empty()) return;
    const auto parsed = parse_bytes(text);
    if (!parsed) refuse(word, wanted);
    number = *parsed;
  };
  read(first, range.first);
  read(end, range.end);
  if (range.first >= range.end)
    refuse(word, "a range that has numbers, FROM:TO with FROM below TO");
  return range;
}

/// What is no condition.
void take_option(DropInRule& rule, std::string_view word, std::string_view key,
                 std::string_view value) {
  try {
    set_option(rule.options, "cohom_" + std::string(key), value);
  } catch (const Error& error) {
    refuse(word, std::string("a condition (bytes=, ranks=, type=) or an option: ") + error.what());
  }
}

void take_word(DropInRule& rule, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0)
    refuse(word, "key=value, such as codec=thc or bytes=64K:");
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "bytes") {
    rule.bytes = parse_range(word, value);
  } else if (key == "ranks") {
    rule.ranks = parse_range(word, value);
  } else if (key == "type") {
    rule.type = element_type_named(value);
    if (rule.type != ElementType::f32 && rule.type != ElementType::f64)
      refuse(word, "type=f32 or type=f64");
  } else if (key == "reduce_scatter_block") {
    rule.scatters = value == "yes";
    if (!rule.scatters && value != "no") refuse(word, "yes or no");
  } else if (key == "codec" && value == "native") {
    rule.native = true;
  } else if (key == "op") {
    refuse(word, "left out: the program says which operation it wants");
  } else {
    take_option(rule, word, key, value);
  }
}

/// Why the codec can have no such call; none: it can.
std::optional<Error> why_no_call(const std::string& codec, ElementType type, int ranks) {
  constexpr std::size_t elements = 1024;  // enough for any codec
  try {
    const Rounds rounds(codec, elements, type, 0, ranks);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_argument) return error;
  }
  return std::nullopt;
}

/// A spec with which no call can be made is an error of the first call, not of the first one that
/// the rule fits. What `auto` takes depends on the call.
void check_codec(const DropInRule& rule) {
  const std::string& codec = rule.options.codec;
  if (rule.native || codec.substr(0, codec.find(':')) == "auto") return;
  if (why_no_call("raw", ElementType::f32, 2)) return;  // wrong for another reason, as COHOM_ISA
  // No call has fewer ranks than one, or more than there may be.
  const std::uint64_t last = std::clamp<std::uint64_t>(rule.ranks.end - 1, 1, max_ranks);
  const std::uint64_t first = std::min(std::max<std::uint64_t>(2, rule.ranks.first), last);
  std::optional<Error> why;
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    for (const std::uint64_t ranks :
         {first, std::uint64_t{8}, std::uint64_t{64}, std::uint64_t{1024}, last}) {
      if (rule.type.value_or(type) != type || ranks < first || ranks > last) continue;
      const auto error = why_no_call(codec, type, static_cast<int>(ranks));
      if (!error) return;
      if (!why) why = error;
    }
  if (why) refuse("codec=" + codec, std::string("a spec of a codec: ") + why->what());
}

/// Takes the first word off the text; empty at its end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file)
    throw Error(ErrorKind::invalid_argument,
                "COHOM_DROP_IN: the file " + path + " cannot be read; it should have rules");
  return text;
}

}  // namespace

DropInRule parse_drop_in_rule(std::string_view text) {
  DropInRule rule;
  std::set<std::string_view> keys;
  std::string_view rest = text;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    if (!keys.insert(word.substr(0, word.find('='))).second)
      refuse(word, "left out: the rule has another word for the same");
    take_word(rule, word);
    rule.text += (rule.text.empty() ? "" : " ") + std::string(word);
  }
  if (!rule.native && rule.options.codec.empty())
    refuse(text, "a rule with codec=SPEC, or codec=native");
  check_codec(rule);
  return rule;
}

DropInRules::DropInRules(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_part(text, '\n');
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      const std::string_view rule = take_part(line, ';');
      if (rule.find_first_not_of(blanks) != std::string_view::npos)
        rules_.push_back(parse_drop_in_rule(rule));
    }
  }
}

DropInRules DropInRules::of_environment() {
  const std::string text = option_or_environment({}, "COHOM_DROP_IN", "");
  return DropInRules(text.starts_with('@') ? content_of(text.substr(1)) : text);
}

const DropInRule* DropInRules::find(std::size_t bytes, int ranks, ElementType type) const {
  const auto found = std::ranges::find_if(
      rules_, [&](const DropInRule& rule) { return rule.fits(bytes, ranks, type); });
  return found == rules_.end() ? nullptr : &*found;
}

std::uint64_t DropInRules::hash() const {
  std::string text;
  for (const DropInRule& rule : rules_) text += rule.text + "\n";
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace cohom::mpi
