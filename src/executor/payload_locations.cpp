#include "executor/payload_locations.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

PayloadLocations::PayloadLocations(const RoundLayout& layout, std::span<const Piece> pieces,
                                   std::size_t element_size)
    : layout_(layout),
      pieces_(pieces),
      element_size_(element_size),
      lengths_(layout.slot_units()) {}

bool PayloadLocations::in_output(std::uint32_t slot, std::uint32_t unit) const {
  return output_ != nullptr && layout_.unit(slot, unit).aliasable &&
         layout_.links().buffer_decoded(layout_.schedule().slots[slot].buffer);
}

bool PayloadLocations::in_input(std::uint32_t slot, std::uint32_t unit) const {
  const MessageUnit& u = layout_.unit(slot, unit);
  return input_ != nullptr && u.aliasable && address(slot, unit) == input_ + first_byte(u);
}

std::byte* PayloadLocations::address(std::uint32_t slot, std::uint32_t unit) const {
  const MessageUnit& u = layout_.unit(slot, unit);
  if (u.aliasable) {
    if (in_output(slot, unit)) return output_ + first_byte(u);
    // Contributions are only read, so the user's const memory can stand for them.
    if (input_ != nullptr && layout_.is_contribution(slot))
      return const_cast<std::byte*>(input_) + first_byte(u);
  }
  return reinterpret_cast<std::byte*>(workspace_ + layout_.workspace_offset(slot, unit));
}

ConstPayload PayloadLocations::words(std::uint32_t slot, std::uint32_t unit) const {
  return {reinterpret_cast<const std::uint64_t*>(address(slot, unit)),
          lengths_[layout_.slot_index(slot, unit)]};
}

void expect_length(std::size_t bytes, std::size_t right) {
  if (bytes != right)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(bytes) +
                                          " bytes came where " + std::to_string(right) +
                                          " were expected");
}

}  // namespace cohom
