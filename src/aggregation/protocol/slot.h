#pragma once
// What a slot knows of a sum that it makes, without the words: which reduction it belongs to, who
// has contributed, and what follows from a packet or message that has passed check.h. The switch
// and the daemon go by these lines, and each keeps the words in its own way. Plain C, because the
// kernel's program shares it.

#include "src/aggregation/protocol/members.h"
#include "src/aggregation/protocol/packet.h"
#include "src/aggregation/protocol/verdict.h"

/// Which words of which reduction: only words of one identity are merged.
struct cohom_identity {
  __u64 call;
  __u32 round;
  __u32 reduction;
  __u32 offset;
  __u16 words;
  __u8 merge;
  __u8 unused;
};

enum cohom_sum_state {
  cohom_sum_none,     // no use has begun
  cohom_sum_filling,  // contributions are missing
  cohom_sum_local,    // of a leaf: all are there, and the parent's sum is missing
  cohom_sum_held,     // of a daemon: the sum is there and may not leave yet
  cohom_sum_done,
};

/// One use of a slot. All zeros: none yet, because no epoch is 0.
struct cohom_slot_use {
  __u64 seen;  // members that have contributed
  __u64 epoch;
  struct cohom_identity identity;
  __u32 sequence;  // how often the slot was used before in this epoch
  __u8 state;
  __u8 unused[3];
};

static __always_inline int cohom_same_reduction(const struct cohom_identity* identity,
                                                const struct cohom_header* packet) {
  return identity->call == packet->call && identity->round == packet->round &&
         identity->reduction == packet->reduction && identity->offset == packet->offset &&
         identity->words == packet->words && identity->merge == packet->merge;
}

static __always_inline int cohom_is_at(const struct cohom_slot_use* use,
                                       const struct cohom_header* packet) {
  return use->epoch == packet->epoch && use->sequence == packet->sequence;
}

/// Whether the packet's use may begin where `use` was. A slot keeps its last `kept_uses` uses;
/// `before` is the last one, which must be done.
static __always_inline int cohom_is_next(const struct cohom_slot_use* use,
                                         const struct cohom_slot_use* before, __u32 kept_uses,
                                         const struct cohom_header* packet) {
  const int is_free =
      packet->sequence < kept_uses
          ? use->epoch != packet->epoch
          : use->epoch == packet->epoch && use->sequence + kept_uses == packet->sequence;
  return is_free && (packet->sequence == 0 ||
                     (before->epoch == packet->epoch && before->sequence + 1 == packet->sequence &&
                      before->state == cohom_sum_done));
}

static __always_inline void cohom_begin(struct cohom_slot_use* use,
                                        const struct cohom_header* packet) {
  use->seen = 0;
  use->epoch = packet->epoch;
  use->identity.call = packet->call;
  use->identity.round = packet->round;
  use->identity.reduction = packet->reduction;
  use->identity.offset = packet->offset;
  use->identity.words = packet->words;
  use->identity.merge = packet->merge;
  use->sequence = packet->sequence;
  use->state = cohom_sum_filling;
}

/// What may be answered to a contribution that has come before.
static __always_inline enum cohom_verdict cohom_answer_to_repeat(const struct cohom_slot_use* use) {
  if (use->state == cohom_sum_done) return cohom_answered;
  return use->state == cohom_sum_local ? cohom_forward_again : cohom_told_waiting;
}

/// What a member's contribution comes to, before its words: cohom_fine where they are to be merged,
/// and then cohom_count() follows. `use` is where uses of its number are kept, and may stand at an
/// earlier one; `kept_uses` and `before` are those of cohom_is_next().
static __always_inline enum cohom_verdict cohom_admit(struct cohom_slot_use* use,
                                                      const struct cohom_slot_use* before,
                                                      __u32 kept_uses,
                                                      const struct cohom_header* packet,
                                                      __u32 member) {
  if (cohom_is_at(use, packet)) {
    if (!cohom_same_reduction(&use->identity, packet)) return cohom_drop_mismatch;
    return use->seen & cohom_bit_of(member) ? cohom_answer_to_repeat(use) : cohom_fine;
  }
  if (use->epoch == packet->epoch && packet->sequence < use->sequence) return cohom_drop_old;
  if (!cohom_is_next(use, before, kept_uses, packet)) return cohom_drop_order;
  cohom_begin(use, packet);
  return cohom_fine;
}

/// Whether the words of a contribution that was admitted are the first ones.
static __always_inline int cohom_is_first(const struct cohom_slot_use* use) {
  return use->seen == 0;
}

/// The words of a contribution that was admitted are in the sum. `members` has the bits of all.
static __always_inline enum cohom_verdict cohom_count(struct cohom_slot_use* use, __u32 member,
                                                      __u64 members, int has_parent) {
  use->seen |= cohom_bit_of(member);
  if (use->seen != members) return cohom_kept;
  use->state = has_parent ? cohom_sum_local : cohom_sum_done;
  return has_parent ? cohom_forward : cohom_multicast;
}

/// Of a contribution: whether its words are in the sum now.
static __always_inline int cohom_is_merged(enum cohom_verdict verdict) {
  return verdict == cohom_kept || verdict == cohom_multicast || verdict == cohom_forward;
}
/// Whether they were before.
static __always_inline int cohom_is_repeat(enum cohom_verdict verdict) {
  return verdict == cohom_told_waiting || verdict == cohom_forward_again ||
         verdict == cohom_answered;
}

/// What the whole group's sum does, which a leaf's parent sends. The words are the caller's to keep
/// where the verdict is cohom_multicast.
static __always_inline enum cohom_verdict cohom_take_sum(struct cohom_slot_use* use,
                                                         const struct cohom_header* packet) {
  if (!cohom_is_at(use, packet)) return cohom_drop_old;
  if (!cohom_same_reduction(&use->identity, packet)) return cohom_drop_mismatch;
  if (use->state != cohom_sum_local) return cohom_drop_repeated_sum;
  use->state = cohom_sum_done;
  return cohom_multicast;
}
