#pragma once
// What the kernel's program and the process that loaded it share: groups, slots, counters.

#include "src/aggregation/protocol/packet.h"

#include <linux/bpf.h>

/// A member, or the parent: its key and, as its own packets have shown it, where it is reached.
/// Addresses and ports are in network byte order.
struct cohom_place {
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

/// Everything is written while `epoch` is zero or, for places, by hellos before `open`. The
/// parent's address and port stand here from the first: only what comes from there can be its
/// answer.
struct cohom_group {
  __u64 job;
  __u64 epoch;         // zero: nobody's
  __u64 members;       // a bit for each worker whose contributions come here
  __u64 known;         // those whose place is known
  __u64 parent_nonce;  // of the hello to the parent, whose answer carries it
  __u32 open;
  __u32 first_slot;
  __u32 slots;
  __u32 payload_words;
  __u32 has_parent;
  __u32 parent_known;
  __u16 parent_worker;  // what this switch is to its parent
  __u16 unused;
  struct cohom_place parent;
  struct cohom_place workers[cohom_most_workers];
  __u64 contributions;
  __u64 sums;
};

enum cohom_pool_state { cohom_pool_empty, cohom_pool_filling, cohom_pool_local, cohom_pool_done };

/// One of the two sums that a slot holds: the one being made and the one before.
struct cohom_pool {
  __u64 seen;  // workers that have contributed
  __u64 epoch;
  __u64 call;
  __u32 round;
  __u32 reduction;
  __u32 offset;
  __u32 use;
  __u16 words;
  __u8 merge;
  __u8 state;
  __u32 unused;
  __u64 sum[cohom_most_words];
};

struct cohom_slot {
  struct bpf_spin_lock lock;
  __u32 unused;
  struct cohom_pool pools[2];
};

/// What becomes of a packet; those from cohom_drop_malformed on are drops. Also indexes counters.
enum cohom_verdict {
  cohom_fine = -1,  // nothing wrong so far
  cohom_kept,       // a contribution, others are missing
  cohom_spread,     // the sum goes to all
  cohom_pass_up,    // what is here is complete and goes to the parent
  cohom_pass_up_again,
  cohom_answered,  // from the finished pool
  cohom_told_waiting,
  cohom_greeted,        // a hello
  cohom_parent_learnt,  // a parent's answer to a hello
  cohom_parent_waits,   // so says the parent
  cohom_drop_malformed,
  cohom_drop_version,
  cohom_drop_group,  // no such job or group
  cohom_drop_epoch,
  cohom_drop_worker,
  cohom_drop_key,     // of somebody who does not know the member's key, or the hello's nonce
  cohom_drop_source,  // right numbers from the wrong place
  cohom_drop_slot,
  cohom_drop_size,
  cohom_drop_merge,
  cohom_drop_old,       // of a use of the slot that is over
  cohom_drop_order,     // of a use whose turn has not come
  cohom_drop_mismatch,  // workers contribute different reductions to one use
  cohom_drop_repeated_sum,
  cohom_drop_no_memory,
  cohom_verdicts
};
