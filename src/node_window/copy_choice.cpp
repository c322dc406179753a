#include "node_window/copy_choice.hpp"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cohom {

namespace {

/// Who reads finds less in the caches then, which the one who writes does not see.
constexpr double least_gain = 1.5;

}  // namespace

double CopyChoice::Rate::best() const { return std::ranges::max(bytes_a_nanosecond); }

bool CopyChoice::is_better_past_caches() const {
  return past_.best() > least_gain * through_.best();
}

bool CopyChoice::next() {
  if (!has_copies_past_caches()) return false;
  const Rate& chosen = past_caches_ ? past_ : through_;
  const Rate& other = past_caches_ ? through_ : past_;
  if (chosen.count < samples) return past_caches_;
  if (other.count < samples || copies_ >= wait_) return !past_caches_;
  return past_caches_;
}

void CopyChoice::took(bool past_caches, std::size_t bytes, std::uint64_t nanoseconds) {
  Rate& rate = past_caches ? past_ : through_;
  rate.bytes_a_nanosecond[rate.count++ % samples] =
      static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(nanoseconds, 1));
  ++copies_;
  if (through_.count < samples || past_.count < samples) return;
  const bool tried_other = past_caches != past_caches_;
  const bool changes = is_better_past_caches() != past_caches_;
  if (changes) past_caches_ = !past_caches_;
  if (changes)
    wait_ = shortest_wait;
  else if (tried_other)
    wait_ = std::min(2 * wait_, longest_wait);
  if (changes || tried_other) copies_ = 0;
}

#if defined(__SSE2__)

bool has_copies_past_caches() { return true; }

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t vector = sizeof(__m128i), line = 4 * vector;
  std::size_t done = 0;
  for (; done + line <= bytes; done += line) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + done);
    auto* const target = reinterpret_cast<__m128i*>(to + done);
    const __m128i words[] = {_mm_loadu_si128(source), _mm_loadu_si128(source + 1),
                             _mm_loadu_si128(source + 2), _mm_loadu_si128(source + 3)};
    for (std::size_t i = 0; i < 4; ++i) _mm_stream_si128(target + i, words[i]);
  }
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}

#else

bool has_copies_past_caches() { return false; }

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

}  // namespace cohom
