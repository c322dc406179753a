#pragma once
// The members of a group at one aggregator: workers that come to it, and its leaves. A leaf is
// there as the lowest of the workers that it stands for. So an aggregator numbers its members anew:
// their numbers are bits of a word, while workers are numbered in the whole tree. Plain C, because
// the kernel's program shares it.

#include "src/aggregation/protocol/packet.h"

enum {
  cohom_max_members = 64,  // of a group, at one aggregator
  cohom_nobody = 0xffff,   // no worker's number
};

/// A member's number is the place of its worker here. They rise; behind the last is cohom_nobody.
struct cohom_members {
  __u16 workers[cohom_max_members];
};

/// The number of the member that contributes as this worker; cohom_max_members: none does.
static __always_inline __u32 cohom_member_of(const struct cohom_members* members, __u32 worker) {
  __u32 member = 0;
  for (__u32 step = cohom_max_members / 2; step != 0; step /= 2)
    if (members->workers[member + step] <= worker) member += step;
  if (worker >= cohom_nobody || members->workers[member] != worker) return cohom_max_members;
  return member;
}

/// Of what is kept by member, whatever the number is.
static __always_inline __u32 cohom_member_index(__u32 member) {
  return member & (cohom_max_members - 1);
}

static __always_inline __u64 cohom_bit_of(__u32 member) {
  return 1ull << cohom_member_index(member);
}

/// The bits of so many members.
static __always_inline __u64 cohom_bits_of(__u32 count) {
  return count == 0 ? 0 : ~0ull >> (cohom_max_members - count);
}
