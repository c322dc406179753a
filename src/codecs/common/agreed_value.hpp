#pragma once
// What ranks agreed on is a maximum or a sum of what each of them sent, and each can send certain
// values only. Any other one means that a message was changed on its way, or that a rank is of
// another kind; a codec asks before it uses it as an exponent, an index or a length.

#include <cstdint>
#include <string_view>

namespace cohom {

/// @throws Error(transport) that names codec, round and value; `right` says which values ranks can
/// send.
[[noreturn]] void refuse_agreed(std::string_view codec, std::string_view round, std::uint64_t value,
                                std::string_view right);

}  // namespace cohom
