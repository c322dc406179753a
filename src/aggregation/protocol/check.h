#pragma once
// Which packets and messages are right: everything is checked before any word is touched. The
// switch and the daemon go by these lines. Plain C, because the kernel's program shares it.

#include "src/aggregation/protocol/members.h"
#include "src/aggregation/protocol/packet.h"
#include "src/aggregation/protocol/verdict.h"

/// Of a hello and of its answer: in place of what only words have.
static __always_inline __u64 cohom_nonce(const struct cohom_header* packet) {
  return (__u64)packet->offset << 32 | packet->sequence;
}

static __always_inline enum cohom_verdict cohom_check_form(const struct cohom_header* packet) {
  if (packet->magic != cohom_magic) return cohom_drop_malformed;
  if (packet->version != cohom_packet_version) return cohom_drop_version;
  if (packet->flags != 0 || packet->kind < cohom_contribution || packet->kind > cohom_hello_answer)
    return cohom_drop_malformed;
  return cohom_fine;
}

/// The job and epoch are those of the group that the packet names. Epoch 0: it is nobody's.
static __always_inline enum cohom_verdict cohom_check_group(const struct cohom_header* packet,
                                                            __u64 job, __u64 epoch) {
  if (epoch == 0 || packet->job != job) return cohom_drop_group;
  return packet->epoch == epoch ? cohom_fine : cohom_drop_epoch;
}

/// Whether it is a member's, who alone knows its key. `member` is what cohom_member_of() says of
/// the packet's worker, and `key` that member's.
static __always_inline enum cohom_verdict cohom_check_member(const struct cohom_header* packet,
                                                             __u32 member, __u64 key) {
  if (member >= cohom_max_members) return cohom_drop_worker;
  return packet->key == key ? cohom_fine : cohom_drop_key;
}

/// Whether it is from somebody who knows what the parent told this aggregator. `worker` and `key`
/// are what it is to its parent, if it has one.
static __always_inline enum cohom_verdict cohom_check_parent(const struct cohom_header* packet,
                                                             int has_parent, __u32 worker,
                                                             __u64 key) {
  if (!has_parent) return cohom_drop_source;
  if (packet->worker != worker) return cohom_drop_worker;
  return packet->key == key ? cohom_fine : cohom_drop_key;
}

/// What may lie in the slots of a group.
struct cohom_extent {
  __u32 slots;
  __u32 payload_words;
  int adds_floats;
};

static __always_inline int cohom_has_merge(__u8 merge, int adds_floats) {
  return merge <= cohom_merge_max16 ||
         (adds_floats && merge >= cohom_merge_add_float && merge < cohom_merge_end);
}

/// Whether there is such a slot, so many words may lie there, `bytes` of them have come, and they
/// can be merged.
static __always_inline enum cohom_verdict cohom_check_words(const struct cohom_header* packet,
                                                            struct cohom_extent extent,
                                                            __u64 bytes) {
  if (packet->slot >= extent.slots) return cohom_drop_slot;
  if (packet->words == 0 || packet->words > extent.payload_words) return cohom_drop_size;
  if (bytes != 8ull * packet->words) return cohom_drop_size;
  return cohom_has_merge(packet->merge, extent.adds_floats) ? cohom_fine : cohom_drop_merge;
}
