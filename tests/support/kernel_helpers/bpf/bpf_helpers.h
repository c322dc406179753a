#pragma once
// In place of libbpf's header of this name: what the switch's program asks of the kernel is
// answered by switch_program.c.

#include <linux/bpf.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value* name

// libbpf has functions of some of these names.
#define bpf_map_lookup_elem cohom_helper_map_lookup_elem
#define bpf_skb_load_bytes cohom_helper_skb_load_bytes
#define bpf_skb_store_bytes cohom_helper_skb_store_bytes
#define bpf_skb_change_tail cohom_helper_skb_change_tail
#define bpf_clone_redirect cohom_helper_clone_redirect
#define bpf_csum_diff cohom_helper_csum_diff

void* bpf_map_lookup_elem(const void* map, const void* key);
long bpf_skb_load_bytes(const struct __sk_buff* skb, __u32 offset, void* to, __u32 bytes);
long bpf_skb_store_bytes(struct __sk_buff* skb, __u32 offset, const void* from, __u32 bytes,
                         __u64 flags);
long bpf_skb_change_tail(struct __sk_buff* skb, __u32 bytes, __u64 flags);
long bpf_clone_redirect(struct __sk_buff* skb, __u32 device, __u64 flags);
__s64 bpf_csum_diff(const __be32* from, __u32 from_bytes, const __be32* to, __u32 to_bytes,
                    __u32 seed);

// Whoever runs the program sees to it that only one thread does.
#define bpf_spin_lock(lock) ((void)(lock))
#define bpf_spin_unlock(lock) ((void)(lock))
