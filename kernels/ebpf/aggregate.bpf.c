// The switch that sums. It sees what enters the switch's ports (tc, clsact ingress), before the
// bridge does. Contributions stay here; the last one leaves as the sum, once for each member.
//
// Packets of others pass untouched; so do those of ours that other programs on the port lose.

// clang-format off
#include <linux/bpf.h>
// clang-format on
#include "kernels/ebpf/group_check.h"
#include "kernels/ebpf/pool.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packets are little-endian, and this program reads them as they are"
#endif

/// What the loader sets: this switch's own address and port, in network byte order.
const volatile __u32 own_address = 0;
const volatile __u16 own_port = 0;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // set by the loader
  __type(key, __u32);
  __type(value, struct cohom_group);
} groups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // set by the loader
  __type(key, __u32);
  __type(value, struct cohom_slot);
} slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct cohom_payload);
} payloads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, cohom_verdicts);
  __type(key, __u32);
  __type(value, __u64);
} counters SEC(".maps");

struct frame {
  __u8 unused[6];  // so that everything is aligned
  struct ethhdr ethernet;
  struct iphdr ip;
  struct udphdr udp;
  struct cohom_header packet;
};

enum {
  udp_bytes = sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct udphdr),
  frame_bytes = udp_bytes + sizeof(struct cohom_header),
};

static __always_inline struct cohom_payload* payload_of_cpu(void) {
  const __u32 zero = 0;
  return bpf_map_lookup_elem(&payloads, &zero);
}

/// Whether the frame is for this switch; then its headers up to UDP's are in `frame`.
static __always_inline int is_ours(struct __sk_buff* skb, struct frame* frame) {
  if (skb->protocol != bpf_htons(ETH_P_IP) || skb->len < udp_bytes) return 0;
  if (bpf_skb_load_bytes(skb, 0, &frame->ethernet, udp_bytes)) return 0;
  return frame->ip.version == 4 && frame->ip.ihl == 5 && frame->ip.protocol == IPPROTO_UDP &&
         frame->ip.daddr == own_address && frame->udp.dest == own_port;
}

/// Addresses the frame to a place and puts it into the packet, whose payload is there already.
static __always_inline long write_frame(struct __sk_buff* skb, struct frame* frame,
                                        const struct cohom_endpoint* endpoint) {
  const __u32 udp_length = sizeof(struct udphdr) + sizeof(frame->packet) +
                           (frame->packet.kind == cohom_waiting ? 0 : 8u * frame->packet.words);
  __builtin_memcpy(frame->ethernet.h_dest, endpoint->mac, ETH_ALEN);
  __builtin_memcpy(frame->ethernet.h_source, endpoint->own_mac, ETH_ALEN);
  frame->ip.tos = 0;
  frame->ip.tot_len = bpf_htons(sizeof(struct iphdr) + udp_length);
  frame->ip.id = 0;
  frame->ip.frag_off = bpf_htons(0x4000);  // do not fragment
  frame->ip.ttl = 64;
  frame->ip.saddr = endpoint->own_address;
  frame->ip.daddr = endpoint->address;
  frame->ip.check = 0;
  __u64 check = bpf_csum_diff(0, 0, (__be32*)&frame->ip, sizeof(frame->ip), 0);
  check = (check & 0xffff) + (check >> 16);
  check = (check & 0xffff) + (check >> 16);
  frame->ip.check = (__u16)~check;
  frame->udp.source = endpoint->own_port;
  frame->udp.dest = endpoint->port;
  frame->udp.len = bpf_htons(udp_length);
  frame->udp.check = 0;  // none: the links have checks of their own
  return bpf_skb_store_bytes(skb, 0, &frame->ethernet, frame_bytes, 0);
}

static __always_inline void send(struct __sk_buff* skb, struct frame* frame,
                                 const struct cohom_endpoint* endpoint) {
  frame->packet.group = endpoint->group;
  frame->packet.key = endpoint->key;
  if (!write_frame(skb, frame, endpoint)) bpf_clone_redirect(skb, endpoint->device, 0);
}

/// The words that this processor has at hand become the packet's.
static __always_inline long write_words(struct __sk_buff* skb, __u32 words) {
  struct cohom_payload* payload = payload_of_cpu();
  if (!payload || words == 0 || words > cohom_max_words) return -1;
  return bpf_skb_store_bytes(skb, frame_bytes, payload->words, 8 * words, 0);
}

// Functions that are not static are verified by themselves, and not once for every way that leads
// there.

/// The number of the member that contributes as the worker; cohom_max_members: none does.
__attribute__((noinline)) int member_of(__u32 number, __u32 worker) {
  const struct cohom_group* group = bpf_map_lookup_elem(&groups, &number);
  if (!group) return cohom_max_members;
  return cohom_member_of(&group->who, worker);
}

/// Sends the sum to each of the members.
__attribute__((noinline)) int send_sum(struct __sk_buff* skb, __u32 number, __u64 members) {
  struct frame frame;
  struct cohom_group* group = bpf_map_lookup_elem(&groups, &number);
  if (!group || bpf_skb_load_bytes(skb, 0, &frame.ethernet, frame_bytes)) return -1;
  if (write_words(skb, frame.packet.words)) return -1;
  frame.packet.kind = cohom_sum;
  for (__u32 member = 0; member < cohom_max_members; ++member) {
    if (!(members >> member & 1)) continue;
    frame.packet.worker = group->who.workers[member];
    send(skb, &frame, &group->endpoints[member]);
  }
  return 0;
}

/// Sends what is complete here to the parent, as the contribution of one worker.
__attribute__((noinline)) int send_up(struct __sk_buff* skb, __u32 number) {
  struct frame frame;
  struct cohom_group* group = bpf_map_lookup_elem(&groups, &number);
  if (!group || bpf_skb_load_bytes(skb, 0, &frame.ethernet, frame_bytes)) return -1;
  if (write_words(skb, frame.packet.words)) return -1;
  frame.packet.worker = group->parent.worker;
  send(skb, &frame, &group->parent.endpoint);
  return 0;
}

/// Sends a member's packet back to it without its words.
__attribute__((noinline)) int send_back(struct __sk_buff* skb, __u32 number, __u32 member,
                                        __u32 kind) {
  struct frame frame;
  struct cohom_group* group = bpf_map_lookup_elem(&groups, &number);
  if (!group || bpf_skb_load_bytes(skb, 0, &frame.ethernet, frame_bytes)) return -1;
  if (skb->len != frame_bytes && bpf_skb_change_tail(skb, frame_bytes, 0)) return -1;
  member = cohom_member_index(member);
  frame.packet.kind = kind;
  frame.packet.worker = group->who.workers[member];
  send(skb, &frame, &group->endpoints[member]);
  return 0;
}

static __always_inline void learn(struct cohom_endpoint* endpoint, const struct frame* frame,
                                  __u32 device) {
  __builtin_memcpy(endpoint->mac, frame->ethernet.h_source, ETH_ALEN);
  __builtin_memcpy(endpoint->own_mac, frame->ethernet.h_dest, ETH_ALEN);
  endpoint->address = frame->ip.saddr;
  endpoint->own_address = frame->ip.daddr;
  endpoint->port = frame->udp.source;
  endpoint->own_port = frame->udp.dest;
  endpoint->device = device;
}

/// The first hello of a member, which alone knows its key, says where it is; later ones must come
/// from there.
static __always_inline int answer_hello(struct __sk_buff* skb, const struct frame* frame,
                                        struct cohom_group* group,
                                        const struct cohom_source* source, __u32 member) {
  const enum cohom_verdict verdict = cohom_check_group_member(&frame->packet, group, member);
  if (verdict != cohom_fine) return verdict;
  struct cohom_endpoint* endpoint = &group->endpoints[cohom_member_index(member)];
  if (!(group->known & cohom_bit_of(member))) {
    learn(endpoint, frame, source->device);
    endpoint->group = (__u16)frame->packet.call;
    __sync_fetch_and_or(&group->known, cohom_bit_of(member));
  }
  if (!cohom_is_from(endpoint, source)) return cohom_drop_source;
  return send_back(skb, frame->packet.group, member, cohom_hello_answer) ? cohom_drop_no_memory
                                                                         : cohom_hello_answered;
}

/// The first right answer says by which device and to which MAC address packets go up.
static __always_inline int learn_parent(const struct frame* frame, struct cohom_group* group,
                                        const struct cohom_source* source) {
  const enum cohom_verdict verdict = cohom_check_answer(&frame->packet, group, source);
  if (verdict != cohom_fine) return verdict;
  if (!group->parent.known) {
    learn(&group->parent.endpoint, frame, source->device);
    group->parent.known = 1;
  }
  return cohom_parent_learnt;
}

/// Brings the payload and its slot together, below the slot's lock.
static __always_inline int take(struct __sk_buff* skb, const struct cohom_header* packet,
                                const struct cohom_group* group, __u32 member) {
  struct cohom_payload* payload = payload_of_cpu();
  const __u32 index = group->first_slot + packet->slot;
  struct cohom_slot* slot = bpf_map_lookup_elem(&slots, &index);
  const __u32 words = packet->words;
  if (!payload || !slot || words == 0 || words > cohom_max_words) return cohom_drop_no_memory;
  payload->blocks = (words + cohom_block_words - 1) / cohom_block_words;
  if (bpf_skb_load_bytes(skb, frame_bytes, payload->words, 8 * words)) return cohom_drop_malformed;
  const __u64 members = group->members;
  const int has_parent = group->parent.is_there != 0;
  const int down = packet->kind == cohom_sum;
  enum cohom_verdict verdict;
  bpf_spin_lock(&slot->lock);
  struct cohom_pool* pool = &slot->pools[packet->sequence & 1];
  struct cohom_pool* other = &slot->pools[~packet->sequence & 1];
  if (down)
    verdict = cohom_receive_sum(pool, packet, payload);
  else
    verdict = cohom_contribute(pool, other, packet, member, members, has_parent, payload);
  bpf_spin_unlock(&slot->lock);
  return verdict;
}

static __always_inline int send_what_is_due(struct __sk_buff* skb,
                                            const struct cohom_header* packet,
                                            struct cohom_group* group, __u32 member,
                                            enum cohom_verdict verdict) {
  if (packet->kind == cohom_contribution && cohom_is_merged(verdict))
    __sync_fetch_and_add(&group->contributions, 1);
  if (verdict == cohom_multicast) {
    __sync_fetch_and_add(&group->sums, 1);
    return send_sum(skb, packet->group, group->members);
  }
  if (verdict == cohom_answered) return send_sum(skb, packet->group, cohom_bit_of(member));
  int failed = 0;
  if (verdict == cohom_forward || verdict == cohom_forward_again)
    failed = send_up(skb, packet->group);
  if (verdict == cohom_told_waiting || verdict == cohom_forward_again)
    failed |= send_back(skb, packet->group, member, cohom_waiting);
  return failed;
}

static __always_inline int handle(struct __sk_buff* skb, struct frame* frame) {
  const struct cohom_header* packet = &frame->packet;
  const __u32 length = bpf_ntohs(frame->udp.len);
  if (skb->len < frame_bytes || length < sizeof(struct udphdr) + sizeof(*packet) ||
      length > skb->len - (udp_bytes - sizeof(struct udphdr)))
    return cohom_drop_malformed;
  if (bpf_skb_load_bytes(skb, udp_bytes, &frame->packet, sizeof(*packet)))
    return cohom_drop_malformed;
  enum cohom_verdict verdict = cohom_check_form(packet);
  if (verdict != cohom_fine) return verdict;
  const __u32 number = packet->group;
  struct cohom_group* group = bpf_map_lookup_elem(&groups, &number);
  if (!group) return cohom_drop_group;
  verdict = cohom_check_group(packet, group->job, group->epoch);
  if (verdict != cohom_fine) return verdict;

  const struct cohom_source source = {
      .address = frame->ip.saddr, .port = frame->udp.source, .device = skb->ifindex};
  const __u32 bytes = length - sizeof(struct udphdr) - sizeof(*packet);
  const int is_from_below = packet->kind == cohom_hello || packet->kind == cohom_contribution;
  const __u32 member = is_from_below ? member_of(number, packet->worker) : cohom_max_members;
  if (packet->kind == cohom_hello) return answer_hello(skb, frame, group, &source, member);
  if (packet->kind == cohom_hello_answer) return learn_parent(frame, group, &source);
  verdict = cohom_check_packet(packet, group, &source, member, bytes);
  if (verdict != cohom_fine) return verdict;
  verdict = take(skb, packet, group, member);
  return send_what_is_due(skb, packet, group, member, verdict) ? cohom_drop_no_memory : verdict;
}

SEC("tc")
int cohom_aggregate(struct __sk_buff* skb) {
  struct frame frame = {};
  if (!is_ours(skb, &frame)) return TC_ACT_UNSPEC;
  const __u32 verdict = handle(skb, &frame);
  __u64* counter = bpf_map_lookup_elem(&counters, &verdict);
  if (counter) ++*counter;
  return verdict >= cohom_drop_malformed ? TC_ACT_SHOT : TC_ACT_STOLEN;
}

char _license[] SEC("license") = "Dual BSD/GPL";
