#pragma once
// Reading a codec's parameters. Whatever is wrong becomes one Error(invalid_argument) that names
// the parameter, the value given and what would be right.

#include "codecs/common/codec_context.hpp"

#include <cohom/codec.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

class ParameterReader {
 public:
  /// @throws Error(invalid_argument) when a parameter is given that is not among `known`.
  ParameterReader(std::string_view codec, std::span<const ParameterInfo> known,
                  const Parameters& given);

  /// Whether there is a value to read: "auto" is a default that depends on other parameters.
  [[nodiscard]] bool given(std::string_view name) const { return value(name) != "auto"; }
  /// Whether the value, given or default, is this word.
  [[nodiscard]] bool is(std::string_view name, std::string_view word) const {
    return value(name) == word;
  }

  [[nodiscard]] std::uint64_t integer(std::string_view name, std::uint64_t low,
                                      std::uint64_t high) const;
  /// A decimal ("0.03125") or a quotient of whole numbers ("1/32"), low <= value <= high.
  [[nodiscard]] double fraction(std::string_view name, double low, double high) const;
  /// Index of the value in `names`.
  [[nodiscard]] std::size_t choice(std::string_view name,
                                   std::span<const std::string_view> names) const;
  /// Of a parameter whose values are on and off.
  [[nodiscard]] bool on(std::string_view name) const;

  /// Reports the parameter's value as out of its range.
  [[noreturn]] void reject(std::string_view name) const;
  /// Reports that the value is wrong beside the others, in spite of its range.
  [[noreturn]] void reject(std::string_view name, std::string_view reason) const;

 private:
  [[nodiscard]] std::string not_allowed(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const std::string& what) const;
  [[nodiscard]] const ParameterInfo& info(std::string_view name) const;
  [[nodiscard]] std::string_view value(std::string_view name) const;

  std::string_view codec_;
  std::span<const ParameterInfo> known_;
  const Parameters& given_;
};

}  // namespace cohom
