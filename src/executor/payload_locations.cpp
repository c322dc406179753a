#include "executor/payload_locations.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {
namespace {

void expect_header(std::size_t words, std::size_t header) {
  if (words < header)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(words) +
                                          " words came where a header of " +
                                          std::to_string(header) + " was expected");
}

}  // namespace

PayloadLocations::PayloadLocations(const Round& round, const RoundLayout& layout, Memory& memory,
                                   std::span<const Piece> pieces, std::size_t element_size)
    : layout_(layout),
      memory_(memory),
      extents_(round, layout, pieces),
      pieces_(pieces),
      element_size_(element_size),
      lengths_(layout.slot_units()),
      lent_(layout.slot_units()) {
  std::size_t longest = 0;
  for (std::uint32_t slot = 0; slot < layout.schedule().slots.size(); ++slot)
    for (const MessageUnit& unit : layout.units_of(slot)) longest = std::max(longest, unit.header);
  header_.resize(longest);
}

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
  const std::size_t index = layout_.slot_index(slot, unit);
  const std::byte* const begin = lent_[index] != nullptr ? lent_[index] : address(slot, unit);
  return {reinterpret_cast<const std::uint64_t*>(begin), lengths_[index]};
}

ConstPayload PayloadLocations::words(std::uint32_t slot, std::uint32_t unit,
                                     std::size_t first_piece, std::size_t pieces) const {
  const ConstPayload all = words(slot, unit);
  if (!layout_.unit(slot, unit).divided) return all;
  const std::size_t begin = extents_.begin(slot, unit, first_piece);
  return all.subspan(begin, extents_.end(slot, unit, first_piece + pieces - 1) - begin);
}

void PayloadLocations::write_header(std::uint32_t slot, std::uint32_t unit) {
  const std::size_t words = layout_.unit(slot, unit).header;
  if (words == 0) return;
  extents_.write_header(slot, unit, header_);
  memory_.from_host(address(slot, unit), header_.data(), 8 * words);
}

void PayloadLocations::take_pieces(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  const std::size_t header = layout_.unit(slot, unit).header;
  expect_header(words, header);
  if (header != 0) memory_.to_host(header_.data(), address(slot, unit), 8 * header);
  extents_.take(slot, unit, header_, words);
}

void expect_length(std::size_t bytes, std::size_t right) {
  if (bytes != right)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(bytes) +
                                          " bytes came where " + std::to_string(right) +
                                          " were expected");
}

}  // namespace cohom
