#pragma once
// The parameter `nmse` of codecs: the error that a sum may have. It is the sum of the squared
// errors of all elements over the sum of the squared elements of the exact sum.

#include "codecs/common/codec_bytes.hpp"
#include "codecs/common/parameters.hpp"

#include <cohom/element_type.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cohom {

inline constexpr double min_nmse = 1e-12, max_nmse = 0.5;
inline constexpr std::string_view nmse_range = "a number from 1e-12 to 0.5";

/// The nmse of results that are rounded to their type once: at most, on average over roundings.
double nmse_of_rounding(ElementType type);

/// The least that can be kept where short vectors of so many ranks may go raw, each of whose hops
/// rounds once.
double least_nmse_of_type(ElementType type, std::uint32_t ranks);

/// Reads `nmse`, for the results of a codec that rounds them to `type` at the end.
/// @throws Error(invalid_argument) also where that rounding alone is too much.
double read_nmse(const ParameterReader& reader, ElementType type, std::uint32_t ranks);

/// Two digits that are not below the number, for messages: who gives them is within it.
std::string nmse_text(double nmse);

/// How `codec=auto:nmse=` sees a codec: with which parameters its sums keep the error, and what
/// calls of normal vectors then are expected to send.
struct KeepingNmse {
  Parameters parameters;
  CodecBytes bytes;
};

}  // namespace cohom
