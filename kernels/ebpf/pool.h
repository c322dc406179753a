#pragma once
// The sums themselves: what a contribution does to the words of its slot, where slot.h says what it
// is. The kernel's program runs it below the slot's lock; tests run the same lines on the host.
//
// Why two pools are enough: a worker uses a slot for the n-th time only when it has the sum of use
// n - 1. For that sum everybody has contributed to n - 1, so everybody has the sum of n - 2, whose
// pool may go. The pool of n - 1 stays, for workers whose copy of the sum was lost.

#include "src/aggregation/protocol/group.h"

enum {
  // Words are handled in blocks, so that the kernel's verifier has few rounds to follow. What lies
  // in the last block behind the payload is never sent.
  cohom_block_words = 16,
  cohom_max_blocks = cohom_max_words / cohom_block_words,
};

/// The payload of the packet at hand, then of the one that leaves.
struct cohom_payload {
  __u32 blocks;
  __u32 unused;
  __u64 words[cohom_max_words];
};

/// Read anew wherever it is asked: a verifier that knew the number would follow every number.
static __always_inline int cohom_has_block(const struct cohom_payload* payload, __u32 block) {
  return block < cohom_max_blocks && block < *(const volatile __u32*)&payload->blocks;
}

static __always_inline __u64 cohom_max_of_halves(__u64 a, __u64 b) {
  const __u64 low_mask = 0xffffffffull;
  const __u64 a_low = a & low_mask, b_low = b & low_mask, a_high = a & ~low_mask,
              b_high = b & ~low_mask;
  return (a_low > b_low ? a_low : b_low) | (a_high > b_high ? a_high : b_high);
}

/// The larger one of each part of two words, all parts at once. `highest` has the highest bit of
/// each part; its lowest one is `to_lowest` below. Where the highest bits differ, a's tells which
/// part is larger; else the other bits do, which are subtracted below a bit that no borrow passes.
static __always_inline __u64 cohom_max_of_parts(__u64 a, __u64 b, __u64 highest, __u32 to_lowest) {
  const __u64 differ = a ^ b;
  const __u64 rest = (a | highest) - (b & ~highest);
  const __u64 not_less = (rest ^ (differ & (rest ^ a))) & highest;
  const __u64 of_a = not_less | (not_less - (not_less >> to_lowest));
  return b ^ (differ & of_a);
}

static __always_inline void cohom_store(__u64* sum, const struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i)
      sum[b * cohom_block_words + i] = payload->words[b * cohom_block_words + i];
}

static __always_inline void cohom_load(const __u64* sum, struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i)
      payload->words[b * cohom_block_words + i] = sum[b * cohom_block_words + i];
}

// Merging leaves the sum in both places: the last member's packet carries it away.

static __always_inline void cohom_add(__u64* sum, struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i) {
      const __u32 at = b * cohom_block_words + i;
      sum[at] = payload->words[at] = sum[at] + payload->words[at];
    }
}

static __always_inline void cohom_or(__u64* sum, struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i) {
      const __u32 at = b * cohom_block_words + i;
      sum[at] = payload->words[at] = sum[at] | payload->words[at];
    }
}

static __always_inline void cohom_max(__u64* sum, struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i) {
      const __u32 at = b * cohom_block_words + i;
      sum[at] = payload->words[at] = cohom_max_of_halves(sum[at], payload->words[at]);
    }
}

static __always_inline void cohom_max8(__u64* sum, struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i) {
      const __u32 at = b * cohom_block_words + i;
      sum[at] = payload->words[at] =
          cohom_max_of_parts(sum[at], payload->words[at], 0x8080808080808080ull, 7);
    }
}

static __always_inline void cohom_max16(__u64* sum, struct cohom_payload* payload) {
  for (__u32 b = 0; cohom_has_block(payload, b); ++b)
    for (__u32 i = 0; i < cohom_block_words; ++i) {
      const __u32 at = b * cohom_block_words + i;
      sum[at] = payload->words[at] =
          cohom_max_of_parts(sum[at], payload->words[at], 0x8000800080008000ull, 15);
    }
}

static __always_inline void cohom_merge(__u64* sum, struct cohom_payload* payload, __u8 merge) {
  if (merge == cohom_merge_add)
    cohom_add(sum, payload);
  else if (merge == cohom_merge_or)
    cohom_or(sum, payload);
  else if (merge == cohom_merge_max)
    cohom_max(sum, payload);
  else if (merge == cohom_merge_max8)
    cohom_max8(sum, payload);
  else
    cohom_max16(sum, payload);
}

/// Takes the member's contribution in `payload`. The payload is then what leaves, if anything does.
static __always_inline enum cohom_verdict cohom_contribute(
    struct cohom_pool* pool, const struct cohom_pool* other, const struct cohom_header* packet,
    __u32 member, __u64 members, int has_parent, struct cohom_payload* payload) {
  const enum cohom_verdict verdict =
      cohom_admit(&pool->use, &other->use, cohom_kept_uses, packet, member);
  if (verdict == cohom_answered || verdict == cohom_forward_again) cohom_load(pool->sum, payload);
  if (verdict != cohom_fine) return verdict;
  if (cohom_is_first(&pool->use))
    cohom_store(pool->sum, payload);
  else
    cohom_merge(pool->sum, payload, packet->merge);
  return cohom_count(&pool->use, member, members, has_parent);
}

/// Takes the whole group's sum, which a parent sends.
static __always_inline enum cohom_verdict cohom_receive_sum(struct cohom_pool* pool,
                                                            const struct cohom_header* packet,
                                                            const struct cohom_payload* payload) {
  const enum cohom_verdict verdict = cohom_take_sum(&pool->use, packet);
  if (verdict == cohom_multicast) cohom_store(pool->sum, payload);
  return verdict;
}
