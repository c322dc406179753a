#pragma once
// The map of tags and cookies: the numbers that tell the messages of one call apart.
//
// A tag travels: both ends of a message give it the same one (docs/wire-format.md). It has 20 bits.
//
//   round << 16 | sequence_id         a payload; the schedule numbers the sequences
//   round << 16 | 2 * index + down    a sum that ranks form themselves; down: on its way back
//   2^20 - 128 + hop                  the agreement on how an aggregator's sums went
//   2^20 - 64                         the agreement of a call
//   2^20 - 3                          a section of a vector, behind the words of an agreement
//   2^20 - 2                          a rank's record, where calls differ
//   2^20 - 1                          why a call fails
//
// A cookie stays on its rank: the channel hands it back with the completion. It has 64 bits.
//
//   round << 56 | step << 32 | unit   a payload, or its reduction by an aggregator
//   round << 56 | index               a sum that ranks form themselves
//   0xfc << 56 | place                a message from a device's words, staged
//   0xfd << 56 | place                a message to them, staged
//   0xfe << 56 | sent << 8 | hop      the agreement on how an aggregator's sums went
//   0xff << 56 | sent << 8 | index    the agreement of a call, and a section behind it
//
// A channel that wraps another one may give that one cookies of its own below those of agreements
// (ChecksumChannel does). How a transport makes its own tags of channel and tag is its own affair.

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom {

/// Rounds of a codec at most: the tags of one more would meet those of agreements. Plans refuse it
/// (plan/plan_codec.cpp).
inline constexpr int max_rounds = 15;
/// A ring has 2 (n-1) streams, which are numbered in 16 bits of the tag.
inline constexpr int max_ranks = 32768;

// Tags.

constexpr std::uint32_t payload_tag(int round, std::uint32_t sequence_id) {
  return std::uint32_t(round) << 16 | sequence_id;
}

/// Of the sum with that index, below RankReduction::max_in_flight, of a round.
constexpr std::uint32_t rank_sum_tag(int round, std::size_t index, bool down) {
  return payload_tag(round, std::uint32_t(2 * index + (down ? 1 : 0)));
}

/// Of a tag that is no agreement's.
constexpr std::uint32_t round_of_tag(std::uint32_t tag) { return tag >> 16; }

inline constexpr std::uint32_t first_outcome_tag = Transport::tag_limit - 128;
/// All hops have it: two ranks meet in one of them only, and a pair once each way
/// (agreement/doubling_hops.hpp).
inline constexpr std::uint32_t call_tag = Transport::tag_limit - 64;
/// All sections of a vector that follow the words of a hop, in their order.
inline constexpr std::uint32_t section_tag = Transport::tag_limit - 3;
inline constexpr std::uint32_t record_tag = Transport::tag_limit - 2;
inline constexpr std::uint32_t failure_tag = Transport::tag_limit - 1;

/// Hops of a dissemination over 65536 ranks.
inline constexpr std::size_t max_outcome_hops = 16;

constexpr std::uint32_t outcome_tag(std::size_t hop) {
  return first_outcome_tag + std::uint32_t(hop);
}

/// Of either agreement: their messages have checksums of their own.
constexpr bool is_agreement_tag(std::uint32_t tag) { return tag >= first_outcome_tag; }

static_assert(payload_tag(max_rounds - 1, 0xffff) < first_outcome_tag);
static_assert(payload_tag(max_rounds, 0xffff) >= first_outcome_tag);
static_assert(outcome_tag(max_outcome_hops - 1) < call_tag);
static_assert(call_tag < section_tag && section_tag < record_tag);
static_assert(round_of_tag(rank_sum_tag(3, 3, true)) == 3);

// Cookies.

constexpr std::uint64_t payload_cookie(int round, std::uint32_t step, std::uint32_t unit) {
  return std::uint64_t(round) << 56 | std::uint64_t(step) << 32 | unit;
}
constexpr std::uint64_t rank_sum_cookie(int round, std::size_t index) {
  return std::uint64_t(round) << 56 | index;
}

/// Agreements have outcome_round or call_round in its place.
constexpr int round_of_cookie(std::uint64_t cookie) { return int(cookie >> 56); }
constexpr std::uint32_t step_of_cookie(std::uint64_t cookie) {
  return std::uint32_t(cookie >> 32) & 0xffffff;
}
constexpr std::uint32_t unit_of_cookie(std::uint64_t cookie) { return std::uint32_t(cookie); }
constexpr std::size_t reduction_of_cookie(std::uint64_t cookie) { return cookie & 0xff; }

/// What the cookies of staged messages (DeviceChannel) and of agreements have in the place of a
/// round.
inline constexpr int leaving_round = 0xfc;
inline constexpr int arriving_round = 0xfd;
inline constexpr int outcome_round = 0xfe;
inline constexpr int call_round = 0xff;

/// Of a request of an agreement: a send, or the receive.
inline constexpr std::uint64_t sent_bit = 1u << 8;

constexpr std::uint64_t outcome_cookie(std::size_t hop, bool sent) {
  return std::uint64_t(outcome_round) << 56 | (sent ? sent_bit : 0) | hop;
}
/// `section`: the receive is of that one.
constexpr std::uint64_t call_cookie(bool sent, std::size_t section = 0) {
  return std::uint64_t(call_round) << 56 | (sent ? sent_bit : 0) | section;
}
constexpr bool is_sent(std::uint64_t cookie) { return (cookie & sent_bit) != 0; }
/// Of an agreement: the hop, or the section.
constexpr std::size_t index_of_cookie(std::uint64_t cookie) { return cookie & (sent_bit - 1); }
constexpr bool is_agreement_cookie(std::uint64_t cookie) {
  return round_of_cookie(cookie) >= outcome_round;
}

static_assert(max_rounds <= leaving_round);
static_assert(round_of_cookie(payload_cookie(14, 0xffffff, 0xffffffff)) == 14);
static_assert(step_of_cookie(payload_cookie(14, 0xabcdef, 0xffffffff)) == 0xabcdef);
static_assert(unit_of_cookie(payload_cookie(14, 0xffffff, 0x12345678)) == 0x12345678);
static_assert(is_sent(outcome_cookie(15, true)) && !is_sent(outcome_cookie(15, false)));
static_assert(index_of_cookie(outcome_cookie(max_outcome_hops - 1, true)) == max_outcome_hops - 1);
static_assert(is_agreement_cookie(outcome_cookie(0, false)) &&
              is_agreement_cookie(call_cookie(true)));

}  // namespace cohom
