#include "coverage.hpp"

#include "complaint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace cohom::ptx {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, '\t');) fields.push_back(field);
  return fields;
}

double percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : 100.0 * double(part) / double(whole);
}

/// Without the parameters, which the template's arguments say as well.
std::string short_name(const std::string& mangled) {
  constexpr std::string_view begin = "run_kernel<", end = ">(";
  std::string name = readable_name(mangled);
  if (name.starts_with(begin)) {
    name.erase(0, begin.size());
    name.resize(std::min(name.rfind(end), name.size()));
    while (name.ends_with(' ')) name.pop_back();
  }
  return name;
}

}  // namespace

std::size_t Coverage::Row::instructions_run() const {
  return static_cast<std::size_t>(std::ranges::count(ran, true));
}

void Coverage::add(std::istream& report) {
  for (std::string line; std::getline(report, line);) {
    try {
      add_line(fields_of(line));
    } catch (const std::logic_error&) {  // numbers and fields that are not there
      throw std::runtime_error("not a line of a report: " + line.substr(0, 200));
    }
  }
}

void Coverage::add_line(const std::vector<std::string>& fields) {
  Row& row = kernels_[fields.at(1)];
  const std::string& kind = fields.at(0);
  if (kind == "registered") return;
  const std::uint64_t times = std::stoull(fields.at(2));
  if (kind == "complaint") {
    row.complaints[fields.at(3)] += times;
  } else if (kind == "edited") {
    ++edited_;
  } else if (kind == "ran") {
    row.launches += times;
    row.blocks += std::stoull(fields.at(3));
    row.steps += std::stoull(fields.at(4));
    const std::string& bits = fields.at(5);
    row.ran.resize(bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i)
      if (bits[i] == '1') row.ran[i] = true;
  } else {
    throw std::invalid_argument(kind);
  }
}

std::vector<std::string> Coverage::never_run() const {
  std::vector<std::string> names;
  for (const auto& [name, row] : kernels_)
    if (row.launches == 0) names.push_back(name);
  return names;
}

std::uint64_t Coverage::complaints() const {
  std::uint64_t all = 0;
  for (const auto& [name, row] : kernels_)
    for (const auto& [what, times] : row.complaints) all += times;
  return all;
}

void Coverage::print_table(std::ostream& out) const {
  Row sum;
  std::size_t instructions = 0, instructions_run = 0;
  out << "launches   blocks          steps  instructions    ran  kernel\n";
  for (const auto& [name, row] : kernels_) {
    out << fmt::format("{:8} {:8} {:14} {:13} {:5.1f}%  {}\n", row.launches, row.blocks, row.steps,
                       row.ran.size(), percent(row.instructions_run(), row.ran.size()),
                       short_name(name));
    sum.launches += row.launches;
    sum.blocks += row.blocks;
    sum.steps += row.steps;
    instructions += row.ran.size();
    instructions_run += row.instructions_run();
  }
  out << fmt::format("{:8} {:8} {:14} {:13} {:5.1f}%  {} kernels, {} never run\n", sum.launches,
                     sum.blocks, sum.steps, instructions, percent(instructions_run, instructions),
                     registered(), never_run().size());
  for (const std::string& name : never_run()) out << "never run: " << short_name(name) << '\n';
}

void Coverage::print_complaints(std::ostream& out) const {
  for (const auto& [name, row] : kernels_)
    for (const auto& [what, times] : row.complaints)
      out << short_name(name) << ": " << what << ", " << times << " times\n";
}

}  // namespace cohom::ptx
