#pragma once
// What becomes of a packet or message. Plain C, because the kernel's program shares it.

/// Those from cohom_drop_malformed on are drops. Also indexes counters.
enum cohom_verdict {
  cohom_fine = -1,  // nothing wrong so far
  cohom_kept,       // a contribution, others are missing
  cohom_multicast,  // the sum goes to all
  cohom_forward,    // what is here is complete and goes to the parent
  cohom_forward_again,
  cohom_answered,  // from the finished pool
  cohom_told_waiting,
  cohom_hello_answered,  // a hello
  cohom_parent_learnt,   // a parent's answer to a hello
  cohom_parent_waits,    // so says the parent
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
  cohom_drop_old,       // of a sequence number that is over
  cohom_drop_order,     // of a sequence number whose turn has not come
  cohom_drop_mismatch,  // workers contribute different reductions to one sequence number
  cohom_drop_repeated_sum,
  cohom_drop_no_memory,
  cohom_verdicts
};
