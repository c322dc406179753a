#include "mpi_options.hpp"

#include "mpi_check.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::mpi {

namespace {

void set_op(Options& options, const std::string& value) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    if (value != name_of(op)) continue;
    options.op = op;
    return;
  }
  throw Error(ErrorKind::invalid_argument, "cohom_op=" + value + " is neither sum nor mean");
}

void set_segment(Options& options, const std::string& value) {
  std::size_t elements = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, elements);
  if (error != std::errc() || stop != end)
    throw Error(ErrorKind::invalid_argument,
                "cohom_segment=" + value + " is not a number of elements (0: the library chooses)");
  options.segment = elements;
}

struct Key {
  std::string_view name;
  void (*set)(Options&, const std::string& value);
};

constexpr std::string_view prefix = "cohom_";
constexpr Key keys[] = {
    {"cohom_codec", [](Options& options, const std::string& value) { options.codec = value; }},
    {"cohom_algorithm",
     [](Options& options, const std::string& value) { options.algorithm = value; }},
    {"cohom_op", set_op},
    {"cohom_segment", set_segment},
    {"cohom_buffer", [](Options& options, const std::string& value) { options.buffer = value; }},
};

/// Fewest characters to insert, delete or replace; one row of the usual table at a time.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

[[noreturn]] void reject_key(std::string_view name) {
  const Key* nearest = std::ranges::min_element(
      keys, {}, [name](const Key& key) { return edit_distance(name, key.name); });
  std::string valid;
  for (const Key& key : keys) valid += (valid.empty() ? "" : ", ") + std::string(key.name);
  throw Error(ErrorKind::invalid_argument, "unknown info key " + std::string(name) +
                                               "; did you mean " + std::string(nearest->name) +
                                               "? Keys: " + valid);
}

std::string value_of(MPI_Info info, const char* key) {
  int length = 0;
  int found = 0;
  check(MPI_Info_get_valuelen(info, key, &length, &found), "MPI_Info_get_valuelen");
  std::string value(static_cast<std::size_t>(length) + 1, '\0');  // MPI writes the final zero, too
  check(MPI_Info_get(info, key, length, value.data(), &found), "MPI_Info_get");
  value.resize(static_cast<std::size_t>(length));
  return value;
}

}  // namespace

Options options_of(MPI_Info info) {
  Options options;
  if (info == MPI_INFO_NULL) return options;
  int count = 0;
  check(MPI_Info_get_nkeys(info, &count), "MPI_Info_get_nkeys");
  for (int i = 0; i < count; ++i) {
    char name[MPI_MAX_INFO_KEY + 1] = "";
    check(MPI_Info_get_nthkey(info, i, name), "MPI_Info_get_nthkey");
    if (!std::string_view(name).starts_with(prefix)) continue;
    const Key* const key = std::ranges::find(keys, std::string_view(name), &Key::name);
    if (key == std::end(keys)) reject_key(name);
    key->set(options, value_of(info, name));
  }
  return options;
}

}  // namespace cohom::mpi
