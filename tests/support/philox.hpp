#pragma once
// Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC'11): a generator
// that passes every known test. The slow reference the library's draws are held against.

#include <array>
#include <cstdint>

namespace cohom::test {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xcd9e8d57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return counter;
}

}  // namespace cohom::test
