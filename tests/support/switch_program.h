#pragma once
// The program that sums in the switch's kernel (kernels/ebpf/aggregate.bpf.c), from the same
// source, built for user space: for tests without root, with sanitizers, and for the fuzzer.

#include "src/aggregation/protocol/group.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cohom_switch_program;

/// Its own address is 0.0.0.0:0, which is where frames go that it is to take. Null: no memory.
struct cohom_switch_program* cohom_switch_make(__u32 groups, __u32 slots);
void cohom_switch_free(struct cohom_switch_program* program);

/// Its maps.
struct cohom_group* cohom_switch_groups(struct cohom_switch_program* program);
struct cohom_slot* cohom_switch_slots(struct cohom_switch_program* program);
const __u64* cohom_switch_counters(const struct cohom_switch_program* program);

/// What the kernel does when a frame of IPv4 comes in by the device. Frames that leave, with
/// Ethernet's, IP's and UDP's headers, are shown to `emit`. One thread at a time.
void cohom_switch_run(struct cohom_switch_program* program, const void* frame, __u32 bytes,
                      __u32 device,
                      void (*emit)(void* context, const void* frame, __u32 bytes, __u32 device),
                      void* context);

#ifdef __cplusplus
}
#endif
