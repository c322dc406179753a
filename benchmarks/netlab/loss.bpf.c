// Loses packets at random as they enter a switch. The queueing discipline that it hangs on counts
// them. LOSS_OF_2_32 is the probability times 2^32. Others go on to the next program on the port.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int lose(struct __sk_buff* packet) {
  (void)packet;
  return bpf_get_prandom_u32() < LOSS_OF_2_32 ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
