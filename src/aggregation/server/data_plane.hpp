#pragma once
// DataPlane: what sums the words of the groups that the control server admits.

#include "aggregation/net/endpoint.hpp"
#include "aggregation/protocol/members.h"
#include "aggregation/protocol/ucx_address.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::offload {

/// What a leaf is to the aggregator above it.
struct ParentPlan {
  std::uint32_t number = 0;  ///< the parent's for the group
  std::uint32_t worker = 0;  ///< as which worker this aggregator contributes
  std::uint64_t key = 0;     ///< between this aggregator and its parent
  std::string data_address;  ///< as the parent wrote it in Admitted
  UcxAddress ucx_address;    ///< likewise
  sockaddr_in control{};     ///< its control channel
};

struct MemberPlan {
  std::uint32_t worker = 0;  ///< as which it contributes
  std::uint64_t key = 0;     ///< between it and this aggregator
};

struct GroupPlan {
  std::uint64_t job = 0;
  std::uint64_t epoch = 0;
  std::vector<MemberPlan> members;  ///< by number: at most cohom_max_members, their workers rise
  std::uint32_t slots = 0;
  std::uint32_t payload_bytes = 0;
  std::optional<ParentPlan> parent;
};

/// The workers of members, as what sums looks them up.
inline cohom_members workers_of(const std::vector<MemberPlan>& members) {
  cohom_members table;
  std::ranges::fill(table.workers, __u16{cohom_nobody});
  for (std::size_t i = 0; i < members.size(); ++i)
    table.workers[i] = static_cast<__u16>(members[i].worker);
  return table;
}

inline std::uint64_t bits_of(const std::vector<MemberPlan>& members) {
  return cohom_bits_of(static_cast<__u32>(members.size()));
}

struct GroupCounters {
  std::uint64_t contributions = 0;
  std::uint64_t sums = 0;
};

class DataPlane {
 public:
  virtual ~DataPlane() = default;
  [[nodiscard]] virtual std::string_view kind() const = 0;
  /// Bits of the MergeKinds it has.
  [[nodiscard]] virtual std::uint32_t merges() const = 0;
  [[nodiscard]] virtual bool takes_narrow() const = 0;
  [[nodiscard]] virtual std::uint32_t slots() const = 0;
  [[nodiscard]] virtual std::uint32_t free_slots() const = 0;
  [[nodiscard]] virtual std::uint32_t max_payload_bytes() const = 0;
  /// Whether words come in active messages; else in packets, which are shorter.
  [[nodiscard]] virtual bool takes_messages() const = 0;
  /// Where words go, as Admitted has it.
  [[nodiscard]] virtual std::string data_address() const = 0;
  [[nodiscard]] virtual UcxAddress ucx_address() const { return {}; }

  /// Makes room for a group and takes hellos of its members; its number. None: no room.
  virtual std::optional<std::uint32_t> add_group(const GroupPlan& plan) = 0;
  /// Where a member of the group is reached, which it says once; whether it may say so.
  /// @throws Error for an address that is none, unsupported when no later one would be right.
  virtual bool take_address(std::uint32_t /*number*/, std::uint32_t /*worker*/,
                            const UcxAddress& /*address*/) {
    return false;
  }
  /// Goes on with meeting the group's parent; whether that is done. Call it again until it is.
  virtual bool meet_parent(std::uint32_t number) = 0;
  /// Bits of the members whose hello it has answered: words will find them.
  [[nodiscard]] virtual std::uint64_t met(std::uint32_t number) const = 0;
  /// All members are known, here and elsewhere: takes contributions from now on.
  virtual void start(std::uint32_t number) = 0;
  /// Groups that cannot go on, by number, and why; the descriptor becomes readable when there are
  /// some (negative: never). Close them.
  [[nodiscard]] virtual std::map<std::uint32_t, std::string> failures() { return {}; }
  [[nodiscard]] virtual int failures_descriptor() const { return -1; }
  /// Drops whatever comes for the group from now on.
  virtual void close(std::uint32_t number) = 0;

  [[nodiscard]] virtual GroupCounters counters(std::uint32_t number) const = 0;
  /// Packets or messages by what became of them: names as in docs/offload-protocol.md.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> packets() const = 0;
};

}  // namespace cohom::offload
