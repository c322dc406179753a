#pragma once
// PTX cut into statements.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::ptx {

struct Statement {
  enum class Kind : std::uint8_t {
    simple,  ///< an instruction or a directive, without its semicolon
    open,    ///< the brace that begins a scope
    close,   ///< the one that ends it
    label,   ///< without its colon
    header,  ///< of a function, up to its brace
    file,    ///< what the number of a source file stands for
  };

  Kind kind;
  std::string text;
  std::uint32_t line = 0;         ///< in the PTX
  std::uint32_t source_file = 0;  ///< by number, as the last .loc says
  std::uint32_t source_line = 0;
};

/// `first_line` is the number of the text's first line.
std::vector<Statement> statements_of(std::string_view text, std::uint32_t first_line);

}  // namespace cohom::ptx
