#pragma once
// Opcode: "setp.lt.u32" in its parts.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::ptx {

class Opcode {
 public:
  explicit Opcode(std::string_view text) {
    std::string part;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '.') {
        parts_.push_back(part);
        part.clear();
      } else {
        part += text[i];
      }
    }
    parts_.push_back(part);
  }

  [[nodiscard]] const std::string& name() const { return parts_.front(); }
  /// The last part: of most opcodes the type of the operands.
  [[nodiscard]] const std::string& type() const { return parts_.back(); }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }
  /// Empty where there are no so many.
  [[nodiscard]] std::string_view part(std::size_t i) const {
    return i < parts_.size() ? std::string_view(parts_[i]) : std::string_view();
  }
  [[nodiscard]] bool has(std::string_view part) const {
    return std::ranges::find(parts_, part) != parts_.end();
  }
  [[nodiscard]] bool is_one_of(std::initializer_list<std::string_view> names) const {
    return std::ranges::find(names, name()) != names.end();
  }

 private:
  std::vector<std::string> parts_;
};

}  // namespace cohom::ptx
