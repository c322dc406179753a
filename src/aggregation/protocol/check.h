#pragma once
// Which packets are right: everything is checked before any word is touched.

#include "src/aggregation/protocol/group.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/// Where a packet came from. Network byte order.
struct cohom_source {
  __u32 address;
  __u16 port;
  __u16 unused;
  __u32 device;
};

/// Of a hello and of its answer: in place of what only words have.
static __always_inline __u64 cohom_nonce(const struct cohom_header* packet) {
  return (__u64)packet->offset << 32 | packet->use;
}

static __always_inline int cohom_check_form(const struct cohom_header* packet) {
  if (packet->magic != cohom_magic) return cohom_drop_malformed;
  if (packet->version != cohom_packet_version) return cohom_drop_version;
  if (packet->flags != 0 || packet->kind < cohom_contribution || packet->kind > cohom_hello_answer)
    return cohom_drop_malformed;
  return cohom_fine;
}

static __always_inline int cohom_check_group(const struct cohom_header* packet,
                                             const struct cohom_group* group) {
  if (group->epoch == 0 || packet->job != group->job) return cohom_drop_group;
  return packet->epoch == group->epoch ? cohom_fine : cohom_drop_epoch;
}

/// Whether there is such a slot, and so many words may lie there.
static __always_inline int cohom_check_extent(const struct cohom_header* packet, __u32 slots,
                                              __u32 payload_words) {
  if (packet->slot >= slots) return cohom_drop_slot;
  return packet->words == 0 || packet->words > payload_words ? cohom_drop_size : cohom_fine;
}

/// `bytes` is what UDP carries.
static __always_inline int cohom_check_words(const struct cohom_header* packet,
                                             const struct cohom_group* group, __u32 bytes) {
  const int verdict = cohom_check_extent(packet, group->slots, group->payload_words);
  if (verdict != cohom_fine) return verdict;
  if (bytes != sizeof(*packet) + 8u * packet->words) return cohom_drop_size;
  return packet->merge <= cohom_merge_max ? cohom_fine : cohom_drop_merge;
}

/// Whether it is a member's, who alone knows its key.
static __always_inline int cohom_check_member(const struct cohom_header* packet,
                                              const struct cohom_group* group) {
  if (packet->worker >= cohom_most_workers || !(group->members >> packet->worker & 1))
    return cohom_drop_worker;
  return packet->key == group->workers[packet->worker & (cohom_most_workers - 1)].key
             ? cohom_fine
             : cohom_drop_key;
}

static __always_inline int cohom_is_from(const struct cohom_place* place,
                                         const struct cohom_source* source) {
  return place->address == source->address && place->port == source->port &&
         place->device == source->device;
}

static __always_inline int cohom_check_contribution(const struct cohom_header* packet,
                                                    const struct cohom_group* group,
                                                    const struct cohom_source* source,
                                                    __u32 bytes) {
  const int verdict = cohom_check_member(packet, group);
  if (verdict != cohom_fine) return verdict;
  if (!group->open ||
      !cohom_is_from(&group->workers[packet->worker & (cohom_most_workers - 1)], source))
    return cohom_drop_source;
  return cohom_check_words(packet, group, bytes);
}

/// Whether it is from somebody who knows what the parent told this switch.
static __always_inline int cohom_check_parent(const struct cohom_header* packet,
                                              const struct cohom_group* group) {
  if (!group->has_parent) return cohom_drop_source;
  if (packet->worker != group->parent_worker) return cohom_drop_worker;
  return packet->key == group->parent.key ? cohom_fine : cohom_drop_key;
}

/// An answer to the hello that this switch has sent to its parent: it has the hello's nonce, and
/// comes from where the hello went.
static __always_inline int cohom_check_answer(const struct cohom_header* packet,
                                              const struct cohom_group* group,
                                              const struct cohom_source* source) {
  const int verdict = cohom_check_parent(packet, group);
  if (verdict != cohom_fine) return verdict;
  if (cohom_nonce(packet) != group->parent_nonce) return cohom_drop_key;
  return source->address == group->parent.address && source->port == group->parent.port
             ? cohom_fine
             : cohom_drop_source;
}

/// For all kinds but hellos and their answers.
static __always_inline int cohom_check_packet(const struct cohom_header* packet,
                                              const struct cohom_group* group,
                                              const struct cohom_source* source, __u32 bytes) {
  if (packet->kind == cohom_contribution)
    return cohom_check_contribution(packet, group, source, bytes);
  const int verdict = cohom_check_parent(packet, group);
  if (verdict != cohom_fine) return verdict;
  if (!group->parent_known || !cohom_is_from(&group->parent, source)) return cohom_drop_source;
  if (packet->kind == cohom_waiting) return cohom_parent_waits;
  return cohom_check_words(packet, group, bytes);
}
