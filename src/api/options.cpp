#include <cohom/options.hpp>

#include "base/option_keys.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cohom {

namespace {

void set_op(Options& options, std::string_view value) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    if (value != name_of(op)) continue;
    options.op = op;
    return;
  }
  throw Error(ErrorKind::invalid_argument,
              "cohom_op=" + std::string(value) + " is neither sum nor mean");
}

void set_segment(Options& options, std::string_view value) {
  const auto elements = parse_number<std::size_t>(value);
  if (!elements)
    throw Error(ErrorKind::invalid_argument,
                "cohom_segment=" + std::string(value) +
                    " is not a number of elements (0: the library chooses)");
  options.segment = *elements;
}

void set_timeout(Options& options, std::string_view value) {
  const auto seconds = parse_seconds(value);
  if (!seconds) throw not_seconds("cohom_timeout", value);
  options.timeout = *seconds;
}

struct Key {
  std::string_view name;
  void (*set)(Options&, std::string_view value);
};

constexpr Key keys[] = {
    {"cohom_codec", [](Options& options, std::string_view value) { options.codec = value; }},
    {"cohom_algorithm",
     [](Options& options, std::string_view value) { options.algorithm = value; }},
    {"cohom_op", set_op},
    {"cohom_segment", set_segment},
    {"cohom_buffer", [](Options& options, std::string_view value) { options.buffer = value; }},
    {"cohom_aggregator",
     [](Options& options, std::string_view value) { options.aggregator = value; }},
    {"cohom_transport",
     [](Options& options, std::string_view value) { options.transport = value; }},
    {"cohom_timeout", set_timeout},
    {"cohom_checksum", [](Options& options, std::string_view value) { options.checksum = value; }},
    {"cohom_progress", [](Options& options, std::string_view value) { options.progress = value; }},
    {"cohom_native", [](Options& options, std::string_view value) { options.native = value; }},
    {"cohom_threads", [](Options& options, std::string_view value) { options.threads = value; }},
};

}  // namespace

std::vector<std::string_view> option_keys() {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

void set_option(Options& options, std::string_view key, std::string_view value) {
  const Key* const found = std::ranges::find(keys, key, &Key::name);
  if (found != std::end(keys)) return found->set(options, value);
  const auto names = option_keys();
  throw Error(ErrorKind::invalid_argument, "unknown key " + std::string(key) +
                                               suggestion(key, names) + "; keys: " + listed(names));
}

}  // namespace cohom
