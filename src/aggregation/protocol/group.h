#pragma once
// What the kernel's program and the process that loaded it share: groups and slots.

#include "src/aggregation/protocol/members.h"
#include "src/aggregation/protocol/packet.h"
#include "src/aggregation/protocol/slot.h"

#include <linux/bpf.h>

/// A member, or the parent: its key and, as its own packets have shown it, where it is reached.
/// Addresses and ports are in network byte order.
struct cohom_endpoint {
  __u64 key;
  __u8 mac[6];
  __u8 own_mac[6];  // by which it knows this switch
  __u32 address;
  __u32 own_address;
  __u16 port;
  __u16 own_port;
  __u32 device;
  __u32 group;  // its own number for the group
  __u32 unused;
};

/// What a leaf knows of its parent. The address and the port stand here from the first: only what
/// comes from there can be its answer.
struct cohom_parent {
  struct cohom_endpoint endpoint;
  __u64 nonce;  // of the hello to the parent, whose answer carries it
  __u32 is_there;
  __u32 known;   // it has answered
  __u16 worker;  // what this switch is to its parent
  __u16 unused[3];
};

/// Everything is written while `epoch` is zero or, for endpoints, by hellos before `started`.
struct cohom_group {
  __u64 job;
  __u64 epoch;    // zero: nobody's
  __u64 members;  // a bit for each
  __u64 known;    // those whose endpoint is known
  __u32 started;
  __u32 first_slot;
  __u32 slots;
  __u32 payload_words;
  struct cohom_parent parent;
  struct cohom_members who;
  struct cohom_endpoint endpoints[cohom_max_members];  // by member
  __u64 contributions;
  __u64 sums;
};

/// Uses that a slot keeps: the one whose sum is being made and the one before.
enum { cohom_kept_uses = 2 };

struct cohom_pool {
  struct cohom_slot_use use;
  __u64 sum[cohom_max_words];
};

struct cohom_slot {
  struct bpf_spin_lock lock;
  __u32 unused;
  struct cohom_pool pools[cohom_kept_uses];
};
