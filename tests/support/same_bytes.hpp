#pragma once
// Comparing results bit for bit, with a message that says where they part.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

namespace cohom::test {

inline ::testing::AssertionResult same_bytes(std::span<const std::byte> found,
                                             std::span<const std::byte> expected) {
  if (found.size() != expected.size())
    return ::testing::AssertionFailure() << found.size() << " bytes instead of " << expected.size();
  const auto [here, there] = std::ranges::mismatch(found, expected);
  if (here == found.end()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "byte " << here - found.begin() << " of " << found.size() << " is "
         << std::to_integer<int>(*here) << " instead of " << std::to_integer<int>(*there);
}

/// Equal for equal bytes, and as good as never for others: stands for a result that is not kept.
inline std::size_t hash_of(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace cohom::test
