// libFuzzer target: bytes that are given to restore_state. Either they are what save() writes, or
// they are an Error; a saved state of which a byte was changed is one. See scripts/fuzz.

#include "fuzz_input.hpp"
#include "require.hpp"

#include "call/state_buffer.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace cohom;
using fuzz::require;

/// Returns whether they were taken.
bool restores(std::span<const std::byte> bytes) {
  try {
    const StateBuffer state = StateBuffer::restore(bytes);
    const auto again = state.save();
    require(std::ranges::equal(again, bytes));
    return true;
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::invalid_argument);
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  restores({reinterpret_cast<const std::byte*>(data), size});

  fuzz::FuzzInput input(data, size);
  StateBuffer state;
  state.step = input.number(8);
  const std::size_t place = input.number(2);
  const auto flipped = static_cast<std::byte>(input.byte());
  state.key.assign(input.choice(40), 'k');
  while (!input.empty()) state.bytes.push_back(static_cast<std::byte>(input.byte()));
  std::vector<std::byte> saved = state.save();
  require(restores(saved));
  saved[place % saved.size()] ^= flipped;
  require(restores(saved) == (flipped == std::byte{}));
  return 0;
}
