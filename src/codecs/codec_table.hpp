#pragma once
// The list of codecs: one row each. Adding a codec is a file in codecs/ and a row here.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"

#include <cohom/codec.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// The form of a codec of which only kernels and Memory touch elements and the payload's words, wherever they
/// lie: any, or those that the parameters say.
struct DeviceForm {
  bool (*is)(const Parameters&, ElementType) = nullptr;  ///< null: any
  std::string_view only = {};                            ///< the same in words
};

struct CodecRow {
  CodecInfo info;
  std::unique_ptr<Codec> (*make)(const CodecContext&) = nullptr;
  DeviceForm device = {};
  /// Whether errors are bounded with these parameters, which raw's are not where values cancel:
  /// such a codec is not bypassed. Null: never.
  bool (*bounds_errors)(const Parameters&) = nullptr;
};

std::span<const CodecRow> codec_table();

/// @throws Error(invalid_argument) naming the nearest codec when there is none of that name.
const CodecRow& find_codec(std::string_view name);

/// The spec with every parameter that differs from its default, in the table's order: specs with
/// equal texts mean the same.
std::string canonical_spec(const CodecRow& row, const Parameters& given);

}  // namespace cohom
