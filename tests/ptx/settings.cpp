#include "settings.hpp"

#include <array>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cohom::ptx {
namespace {

std::string text_of(const std::string& name) {
  const char* const value = std::getenv(("COHOM_TEST_PTX_" + name).c_str());
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value) {
  throw std::runtime_error("COHOM_TEST_PTX_" + name + " is '" + value + "'");
}

std::uint64_t number_of(const std::string& name, std::uint64_t otherwise) {
  const std::string text = text_of(name);
  if (text.empty()) return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (*end != '\0') refuse(name, text);
  return value;
}

/// Which of the words it is.
std::size_t choice_of(const std::string& name, std::span<const std::string_view> words) {
  const std::string text = text_of(name);
  if (text.empty()) return 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == text) return i;
  refuse(name, text);
}

}  // namespace

Settings Settings::read() {
  constexpr std::array<std::string_view, 3> nans = {"canonical", "first", "second"};
  constexpr std::array<std::string_view, 3> orders = {"late", "random", "copies"};
  Settings settings;
  settings.races = number_of("RACES", 0) != 0;
  settings.seed = number_of("SEED", settings.seed);
  settings.step_limit = number_of("STEPS", settings.step_limit);
  settings.processors = static_cast<int>(number_of("PROCESSORS", 3));
  settings.nan = static_cast<NanMode>(choice_of("NAN", nans));
  settings.streams = static_cast<StreamOrder>(choice_of("STREAMS", orders));
  settings.report = text_of("REPORT");
  settings.edit = text_of("EDIT");
  return settings;
}

const Settings& Settings::instance() {
  static const Settings& settings = *new Settings(read());  // outlives the report at exit
  return settings;
}

}  // namespace cohom::ptx
