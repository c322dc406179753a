#include "command_line.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <system_error>

namespace cohom::bench {

namespace {

CLI::Validator some_text(const std::string& what, const std::string& type) {
  return {[what](const std::string& text) {
            return text.empty() ? "'' should be " + what : std::string();
          },
          type};
}

}  // namespace

std::optional<Information> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return Information{app.help()};
  } catch (const CLI::CallForVersion& version) {
    return Information{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} (see {} --help)", error.what(), app.get_name()));
  }
}

std::vector<std::string> split_list(std::string_view flag, std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(',', begin);
    items.emplace_back(text.substr(begin, end - begin));
    if (items.back().empty())
      throw UsageError(fmt::format("{} '{}' has an empty item; write a,b,c", flag, text));
    if (end == std::string_view::npos) return items;
    begin = end + 1;
  }
}

CLI::Validator whole_number(std::uint64_t smallest) {
  return {[smallest](const std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            if (error != std::errc{} || stop != end) return text + " is not a whole number";
            return value >= smallest ? std::string()
                                     : fmt::format("{} is not {} or more", text, smallest);
          },
          "WHOLE"};
}

CLI::Validator some_path() { return some_text("the path of a file", "PATH"); }

CLI::Validator some_codec() {
  return some_text("a codec spec, e.g. thc:bits=4 (see cohom-info)", "SPEC");
}

}  // namespace cohom::bench
