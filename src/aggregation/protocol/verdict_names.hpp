#pragma once
// How counters of packets are called (docs/offload-protocol.md).

#include "aggregation/protocol/verdict.h"

#include <string_view>

namespace cohom::offload {

constexpr std::string_view name_of(cohom_verdict verdict) {
  switch (verdict) {
    case cohom_kept: return "kept";
    case cohom_multicast: return "spread";
    case cohom_forward: return "passed_up";
    case cohom_forward_again: return "passed_up_again";
    case cohom_answered: return "answered";
    case cohom_told_waiting: return "told_waiting";
    case cohom_hello_answered: return "greeted";
    case cohom_parent_learnt: return "parent_learnt";
    case cohom_parent_waits: return "parent_waits";
    case cohom_drop_malformed: return "drop_malformed";
    case cohom_drop_version: return "drop_version";
    case cohom_drop_group: return "drop_group";
    case cohom_drop_epoch: return "drop_epoch";
    case cohom_drop_worker: return "drop_worker";
    case cohom_drop_key: return "drop_key";
    case cohom_drop_source: return "drop_source";
    case cohom_drop_slot: return "drop_slot";
    case cohom_drop_size: return "drop_size";
    case cohom_drop_merge: return "drop_merge";
    case cohom_drop_old: return "drop_old";
    case cohom_drop_order: return "drop_order";
    case cohom_drop_mismatch: return "drop_mismatch";
    case cohom_drop_repeated_sum: return "drop_repeated_sum";
    case cohom_drop_no_memory: return "drop_no_memory";
    case cohom_fine:
    case cohom_verdicts: break;
  }
  return "?";
}

}  // namespace cohom::offload
