// The bytes of a saved state.

#include "call/state_buffer.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

StateBuffer example() {
  return {.key = "thc:error_feedback=on|2|f32",
          .step = 41,
          .bytes = {std::byte{1}, std::byte{2}, std::byte{0}, std::byte{255}}};
}

void expect_refused(const std::vector<std::byte>& saved, const char* reason) {
  try {
    (void)StateBuffer::restore(saved);
    ADD_FAILURE() << "accepted " << saved.size() << " bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::to_string(saved.size())), std::string::npos);
  }
}

TEST(StateBuffer, ComesBackAsItWas) {
  for (const StateBuffer& original :
       {StateBuffer{}, example(),
        StateBuffer{.key = "k", .step = ~std::uint64_t{0}, .bytes = {}}}) {
    const StateBuffer restored = StateBuffer::restore(original.save());
    EXPECT_EQ(restored.key, original.key);
    EXPECT_EQ(restored.step, original.step);
    EXPECT_EQ(restored.bytes, original.bytes);
  }
}

TEST(StateBuffer, RefusesWhatIsCutOffOrTooLong) {
  const auto saved = example().save();
  expect_refused({}, "too short");
  for (std::size_t length = 1; length < saved.size(); ++length)
    EXPECT_THROW((void)StateBuffer::restore(std::span(saved).first(length)), Error) << length;
  auto longer = saved;
  longer.push_back(std::byte{0});
  expect_refused(longer, "does not fit its header");
}

TEST(StateBuffer, RefusesOtherHeaders) {
  // Magic and version are checked byte by byte.
  for (std::size_t i = 0; i < 8; ++i) {
    auto damaged = example().save();
    damaged[i] ^= std::byte{0x80};
    expect_refused(damaged, "not a saved state of this version");
  }
}

TEST(StateBuffer, RefusesAnyChange) {
  const auto saved = example().save();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    auto damaged = saved;
    damaged[i] ^= std::byte{4};
    EXPECT_THROW((void)StateBuffer::restore(damaged), Error) << "byte " << i;
  }
}

/// Lengths whose sum wraps around must not be believed.
TEST(StateBuffer, RefusesLengthsThatOverflow) {
  auto saved = example().save();
  constexpr std::size_t key_length_at = 16;
  std::fill_n(saved.begin() + key_length_at, 8, std::byte{0xff});
  expect_refused(saved, "does not fit its header");
  saved = example().save();
  std::fill_n(saved.begin() + key_length_at + 8, 8, std::byte{0xff});
  expect_refused(saved, "does not fit its header");
  // A key one byte longer than all there is, and a state of minus one byte: together they fit.
  constexpr std::size_t header_bytes = 40;
  saved[key_length_at] = static_cast<std::byte>(saved.size() - header_bytes + 1);
  expect_refused(saved, "does not fit its header");
}

}  // namespace
}  // namespace cohom::test
