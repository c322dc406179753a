#pragma once
// Which packets the switch takes: check.h's questions, answered by what it knows of a group, and
// whether a packet comes from where its sender has shown that it is.

#include "src/aggregation/protocol/check.h"
#include "src/aggregation/protocol/group.h"

/// Where a packet came from. Network byte order.
struct cohom_source {
  __u32 address;
  __u16 port;
  __u16 unused;
  __u32 device;
};

static __always_inline enum cohom_verdict cohom_check_group_member(
    const struct cohom_header* packet, const struct cohom_group* group, __u32 member) {
  return cohom_check_member(packet, member, group->endpoints[cohom_member_index(member)].key);
}

static __always_inline enum cohom_verdict cohom_check_group_parent(
    const struct cohom_header* packet, const struct cohom_group* group) {
  return cohom_check_parent(packet, group->parent.is_there != 0, group->parent.worker,
                            group->parent.endpoint.key);
}

static __always_inline enum cohom_verdict cohom_check_group_words(const struct cohom_header* packet,
                                                                  const struct cohom_group* group,
                                                                  __u32 bytes) {
  const struct cohom_extent extent = {
      .slots = group->slots, .payload_words = group->payload_words, .adds_floats = 0};
  return cohom_check_words(packet, extent, bytes);
}

static __always_inline int cohom_is_from(const struct cohom_endpoint* endpoint,
                                         const struct cohom_source* source) {
  return endpoint->address == source->address && endpoint->port == source->port &&
         endpoint->device == source->device;
}

static __always_inline enum cohom_verdict cohom_check_contribution(
    const struct cohom_header* packet, const struct cohom_group* group,
    const struct cohom_source* source, __u32 member, __u32 bytes) {
  const enum cohom_verdict verdict = cohom_check_group_member(packet, group, member);
  if (verdict != cohom_fine) return verdict;
  if (!group->started || !cohom_is_from(&group->endpoints[cohom_member_index(member)], source))
    return cohom_drop_source;
  return cohom_check_group_words(packet, group, bytes);
}

/// An answer to the hello that this switch has sent to its parent: it has the hello's nonce, and
/// comes from where the hello went.
static __always_inline enum cohom_verdict cohom_check_answer(const struct cohom_header* packet,
                                                             const struct cohom_group* group,
                                                             const struct cohom_source* source) {
  const enum cohom_verdict verdict = cohom_check_group_parent(packet, group);
  if (verdict != cohom_fine) return verdict;
  if (cohom_nonce(packet) != group->parent.nonce) return cohom_drop_key;
  return source->address == group->parent.endpoint.address &&
                 source->port == group->parent.endpoint.port
             ? cohom_fine
             : cohom_drop_source;
}

/// For all kinds but hellos and their answers. `member` is the sender of a contribution, `bytes`
/// are those behind the header.
static __always_inline enum cohom_verdict cohom_check_packet(const struct cohom_header* packet,
                                                             const struct cohom_group* group,
                                                             const struct cohom_source* source,
                                                             __u32 member, __u32 bytes) {
  if (packet->kind == cohom_contribution)
    return cohom_check_contribution(packet, group, source, member, bytes);
  const enum cohom_verdict verdict = cohom_check_group_parent(packet, group);
  if (verdict != cohom_fine) return verdict;
  if (!group->parent.known || !cohom_is_from(&group->parent.endpoint, source))
    return cohom_drop_source;
  if (packet->kind == cohom_waiting) return cohom_parent_waits;
  return cohom_check_group_words(packet, group, bytes);
}
