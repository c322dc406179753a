#pragma once
// The packets of the switch path, word by word as docs/offload-protocol.md has them. Plain C,
// because the kernel's program and the library share it. Numbers are little-endian.

#include <linux/types.h>

#ifdef __cplusplus
#define COHOM_STATIC_ASSERT static_assert
#else
#define COHOM_STATIC_ASSERT _Static_assert
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

enum {
  cohom_magic = 0x61686f63,  // the bytes "coha"
  cohom_packet_version = 2,
  cohom_max_words = 1024,    // of a payload: 8 KiB, what fits into frames of 9000 bytes
  cohom_max_workers = 8192,  // of a group, in its whole tree
};

enum cohom_packet_kind {
  cohom_contribution = 1,  // worker to aggregator, and a leaf's sum to its parent
  cohom_sum = 2,           // the whole group's, to a worker or to a leaf
  cohom_waiting = 3,       // your contribution is here, others are missing; no words
  cohom_hello = 4,         // a worker shows where it is reached; no words
  cohom_hello_answer = 5,
};

enum cohom_packet_merge {
  cohom_merge_add = 0,
  cohom_merge_or = 1,
  cohom_merge_max = 2,
  cohom_merge_max8 = 3,
  cohom_merge_max16 = 4,
  cohom_merge_add_float = 16,  // of f32; of f16, bf16 and f64 behind it. In messages alone
  cohom_merge_end = 20,
};

struct cohom_header {
  __u32 magic;
  __u8 version;
  __u8 kind;
  __u8 merge;
  __u8 flags;  // zero
  __u64 job;
  __u64 epoch;  // of the group: random, drawn anew whenever it forms
  __u64 key;    // random: only the member and its aggregator know it
  __u16 group;  // the receiver's number for the group
  __u16 worker;
  __u16 slot;      // of the group
  __u16 words;     // behind this header
  __u32 sequence;  // how often the slot was used before in this epoch
  __u32 offset;    // of the payload's first word in its reduction
  __u32 reduction;
  __u32 round;
  __u64 call;  // in a hello: the sender's own number for the group
};

COHOM_STATIC_ASSERT(sizeof(struct cohom_header) == 64, "eight words without gaps");
