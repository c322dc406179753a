#pragma once
// What options of whole numbers accept: CLI11 by itself takes -1 for 2^64 - 1.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace cohom::bench {

inline CLI::Validator whole_number(std::uint64_t smallest = 0) {
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

}  // namespace cohom::bench
