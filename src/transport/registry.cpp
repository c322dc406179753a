#include "transport/registry.hpp"

#include "agreement/call_differences.hpp"
#include "base/environment.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>

#include <algorithm>

namespace cohom {

namespace {

constexpr TransportRow rows[] = {
    {"mpi", "MPI", "messages of the MPI library"},
    {"ucx", "UCX", "messages of UCX, set up for this library"},
};

bool is_built(std::string_view name, std::span<const BuiltTransport> built) {
  return std::ranges::find(built, name, &BuiltTransport::name) != built.end();
}

}  // namespace

std::span<const TransportRow> transport_table() { return rows; }

std::size_t number_of_transport(std::string_view given, std::span<const BuiltTransport> built) {
  std::vector<std::string_view> names, built_names;
  for (const TransportRow& row : rows) {
    names.push_back(row.name);
    if (is_built(row.name, built)) built_names.push_back(row.name);
  }
  const std::string name = option_or_environment(given, "COHOM_TRANSPORT", names[0]);
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw Error(ErrorKind::invalid_argument, "transport \"" + name + "\" is unknown" +
                                                 suggestion(name, names) +
                                                 "; transports: " + listed(names));
  const auto number = static_cast<std::size_t>(found - names.begin());
  if (!is_built(name, built))
    throw Error(ErrorKind::unsupported,
                "transport \"" + name + "\": this library was built without " +
                    std::string(rows[number].needs) + "; transports: " + listed(built_names));
  return number;
}

void expect_same_transport(std::span<const std::uint64_t> by_rank) {
  std::vector<std::string> chosen;
  for (const std::uint64_t number : by_rank)
    chosen.emplace_back(number < std::size(rows) ? rows[number].name
                                                 : "of another version of cohom");
  expect_same("transport", chosen);
}

const BuiltTransport& find_transport(std::size_t number, std::span<const BuiltTransport> built) {
  return *std::ranges::find(built, rows[number].name, &BuiltTransport::name);
}

}  // namespace cohom
