#include "switch_program.h"

// The helpers that it includes are those of kernel_helpers/.
#include "kernels/ebpf/aggregate.bpf.c"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cohom_switch_program {
  __u32 group_count, slot_count;
  struct cohom_group* groups;
  struct cohom_slot* slots;
  struct cohom_payload* payload;
  __u64 counters[cohom_verdicts];
};

/// A frame at hand. Its bytes are a block of their own, so that sanitizers see what is behind them.
struct packet_buffer {
  struct __sk_buff skb;  // first: the program's pointers are to it
  unsigned char* bytes;
  void (*emit)(void* context, const void* frame, __u32 bytes, __u32 device);
  void* context;
};

/// The program's maps are global; whose they are is said here while it runs.
static _Thread_local struct cohom_switch_program* running;

struct cohom_switch_program* cohom_switch_make(__u32 group_count, __u32 slot_count) {
  struct cohom_switch_program* program = calloc(1, sizeof *program);
  if (!program) return NULL;
  program->group_count = group_count;
  program->slot_count = slot_count;
  program->groups = calloc(group_count, sizeof *program->groups);
  program->slots = calloc(slot_count, sizeof *program->slots);
  program->payload = calloc(1, sizeof *program->payload);
  if (program->groups && program->slots && program->payload) return program;
  cohom_switch_free(program);
  return NULL;
}

void cohom_switch_free(struct cohom_switch_program* program) {
  if (!program) return;
  free(program->groups);
  free(program->slots);
  free(program->payload);
  free(program);
}

struct cohom_group* cohom_switch_groups(struct cohom_switch_program* program) {
  return program->groups;
}
struct cohom_slot* cohom_switch_slots(struct cohom_switch_program* program) {
  return program->slots;
}
const __u64* cohom_switch_counters(const struct cohom_switch_program* program) {
  return program->counters;
}

void cohom_switch_run(struct cohom_switch_program* program, const void* frame, __u32 bytes,
                      __u32 device,
                      void (*emit)(void* context, const void* frame, __u32 bytes, __u32 device),
                      void* context) {
  struct packet_buffer packet = {.emit = emit, .context = context};
  packet.skb.protocol = bpf_htons(ETH_P_IP);
  packet.skb.len = bytes;
  packet.skb.ifindex = device;
  packet.bytes = malloc(bytes ? bytes : 1);
  if (!packet.bytes) return;
  if (bytes) memcpy(packet.bytes, frame, bytes);
  running = program;
  cohom_aggregate(&packet.skb);
  running = NULL;
  free(packet.bytes);
}

void* bpf_map_lookup_elem(const void* map, const void* key) {
  const __u32 index = *(const __u32*)key;
  if (map == &groups) return index < running->group_count ? &running->groups[index] : NULL;
  if (map == &slots) return index < running->slot_count ? &running->slots[index] : NULL;
  if (map == &payloads) return index == 0 ? running->payload : NULL;
  return index < cohom_verdicts ? &running->counters[index] : NULL;
}

static int is_within(const struct __sk_buff* skb, __u32 offset, __u32 bytes) {
  return bytes != 0 && offset <= skb->len && bytes <= skb->len - offset;
}

long bpf_skb_load_bytes(const struct __sk_buff* skb, __u32 offset, void* to, __u32 bytes) {
  if (!is_within(skb, offset, bytes)) return -EFAULT;
  memcpy(to, ((const struct packet_buffer*)skb)->bytes + offset, bytes);
  return 0;
}

long bpf_skb_store_bytes(struct __sk_buff* skb, __u32 offset, const void* from, __u32 bytes,
                         __u64 flags) {
  if (flags != 0 || !is_within(skb, offset, bytes)) return -EFAULT;
  memcpy(((struct packet_buffer*)skb)->bytes + offset, from, bytes);
  return 0;
}

long bpf_skb_change_tail(struct __sk_buff* skb, __u32 bytes, __u64 flags) {
  struct packet_buffer* packet = (struct packet_buffer*)skb;
  if (flags != 0 || bytes == 0) return -EINVAL;
  unsigned char* other = calloc(1, bytes);
  if (!other) return -ENOMEM;
  memcpy(other, packet->bytes, bytes < skb->len ? bytes : skb->len);
  free(packet->bytes);
  packet->bytes = other;
  skb->len = bytes;
  return 0;
}

long bpf_clone_redirect(struct __sk_buff* skb, __u32 device, __u64 flags) {
  const struct packet_buffer* packet = (const struct packet_buffer*)skb;
  if (flags != 0) return -EINVAL;
  packet->emit(packet->context, packet->bytes, skb->len, device);
  return 0;
}

/// Of few bytes, so that the sum does not overflow.
__s64 bpf_csum_diff(const __be32* from, __u32 from_bytes, const __be32* to, __u32 to_bytes,
                    __u32 seed) {
  (void)from;
  if (from_bytes != 0 || to_bytes % 4 != 0) return -EINVAL;
  __u64 sum = seed;
  for (__u32 i = 0; i < to_bytes / 4; ++i) sum += (to[i] & 0xffff) + (to[i] >> 16);
  return (__s64)sum;
}
