#pragma once
// The sums themselves: what a contribution does to the pools of its slot. The kernel's program runs
// it below the slot's lock; tests run the same lines on the host.
//
// Why two pools are enough: a worker uses a slot for the n-th time only when it has the sum of use
// n - 1. For that sum everybody has contributed to n - 1, so everybody has the sum of n - 2, whose
// pool may go. The pool of n - 1 stays, for workers whose copy of the sum was lost.

#include "src/aggregation/protocol/group.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

enum {
  // Words are handled in blocks, so that the kernel's verifier has few rounds to follow. What lies
  // in
  // the last block behind the payload is never sent.
  cohom_block_words = 16,
  cohom_most_blocks = cohom_most_words / cohom_block_words,
};

/// The payload of the packet at hand, then of the one that leaves.
struct cohom_payload {
  __u32 blocks;
  __u32 unused;
  __u64 words[cohom_most_words];
};

/// Read anew wherever it is asked: a verifier that knew the number would follow every number.
static __always_inline int cohom_has_block(const struct cohom_payload* payload, __u32 block) {
  return block < cohom_most_blocks && block < *(const volatile __u32*)&payload->blocks;
}

static __always_inline __u64 cohom_max_of_halves(__u64 a, __u64 b) {
  const __u64 low_mask = 0xffffffffull;
  const __u64 a_low = a & low_mask, b_low = b & low_mask, a_high = a & ~low_mask,
              b_high = b & ~low_mask;
  return (a_low > b_low ? a_low : b_low) | (a_high > b_high ? a_high : b_high);
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

// Merging leaves the sum in both places: the last worker's packet carries it away.

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

static __always_inline void cohom_merge(__u64* sum, struct cohom_payload* payload, __u8 merge) {
  if (merge == cohom_merge_add)
    cohom_add(sum, payload);
  else if (merge == cohom_merge_or)
    cohom_or(sum, payload);
  else
    cohom_max(sum, payload);
}

static __always_inline int cohom_same_reduction(const struct cohom_pool* pool,
                                                const struct cohom_header* packet) {
  return pool->call == packet->call && pool->round == packet->round &&
         pool->reduction == packet->reduction && pool->offset == packet->offset &&
         pool->words == packet->words && pool->merge == packet->merge;
}

/// Whether the pool may be given to the packet's use of the slot.
static __always_inline int cohom_is_next(const struct cohom_pool* pool,
                                         const struct cohom_pool* other,
                                         const struct cohom_header* packet) {
  const int pool_free = packet->use < 2
                            ? pool->epoch != packet->epoch
                            : pool->epoch == packet->epoch && pool->use + 2 == packet->use;
  return pool_free &&
         (packet->use == 0 || (other->epoch == packet->epoch && other->use + 1 == packet->use &&
                               other->state == cohom_pool_done));
}

static __always_inline void cohom_begin(struct cohom_pool* pool,
                                        const struct cohom_header* packet) {
  pool->seen = 0;
  pool->call = packet->call;
  pool->round = packet->round;
  pool->reduction = packet->reduction;
  pool->offset = packet->offset;
  pool->epoch = packet->epoch;
  pool->use = packet->use;
  pool->words = packet->words;
  pool->merge = packet->merge;
  pool->state = cohom_pool_filling;
}

/// A contribution that has come before is never merged again.
static __always_inline int cohom_repeat(const struct cohom_pool* pool,
                                        struct cohom_payload* payload) {
  if (pool->state == cohom_pool_filling) return cohom_told_waiting;
  cohom_load(pool->sum, payload);
  return pool->state == cohom_pool_done ? cohom_answered : cohom_pass_up_again;
}

/// Takes the contribution in `payload`. The payload is then what leaves, if anything does.
static __always_inline int cohom_contribute(struct cohom_pool* pool, const struct cohom_pool* other,
                                            const struct cohom_header* packet, __u64 members,
                                            int has_parent, struct cohom_payload* payload) {
  const __u64 bit = 1ull << (packet->worker & (cohom_most_workers - 1));
  if (pool->epoch == packet->epoch && pool->use == packet->use) {
    if (!cohom_same_reduction(pool, packet)) return cohom_drop_mismatch;
    if (pool->seen & bit) return cohom_repeat(pool, payload);
    cohom_merge(pool->sum, payload, packet->merge);
  } else {
    if (pool->epoch == packet->epoch && packet->use < pool->use) return cohom_drop_old;
    if (!cohom_is_next(pool, other, packet)) return cohom_drop_order;
    cohom_begin(pool, packet);
    cohom_store(pool->sum, payload);
  }
  pool->seen |= bit;
  if (pool->seen != members) return cohom_kept;
  pool->state = has_parent ? cohom_pool_local : cohom_pool_done;
  return has_parent ? cohom_pass_up : cohom_spread;
}

/// Takes the whole group's sum, which a parent sends.
static __always_inline int cohom_receive_sum(struct cohom_pool* pool,
                                             const struct cohom_header* packet,
                                             const struct cohom_payload* payload) {
  if (pool->epoch != packet->epoch || pool->use != packet->use) return cohom_drop_old;
  if (!cohom_same_reduction(pool, packet)) return cohom_drop_mismatch;
  if (pool->state != cohom_pool_local) return cohom_drop_repeated_sum;
  cohom_store(pool->sum, payload);
  pool->state = cohom_pool_done;
  return cohom_spread;
}
