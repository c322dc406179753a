#pragma once
// SlotEngine: moves the packets of all reductions under way in one session. Used by the caller's thread.

#include "offload/control_client.hpp"
#include "offload/round_trip.hpp"
#include "offload/session.hpp"
#include "offload/slot_line.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohom::offload {

struct PacketCounters {
  std::uint64_t sent = 0;      ///< all of them
  std::uint64_t repeated = 0;  ///< of these, sent before
  std::uint64_t sums = 0;
  std::uint64_t waiting = 0;  ///< answers that others are missing
  std::uint64_t stale = 0;    ///< answers that nobody waits for
};

class SlotEngine {
 public:
  SlotEngine(std::shared_ptr<Session> session, const GroupMembership& membership,
             const ClientOptions& options);

  /// Streams enter in the same order on all ranks, and leave before they go.
  void enter(ReductionStream& stream);
  void leave(const ReductionStream& stream);

  /// Takes what has arrived, sends what may leave. What goes wrong ends the session.
  void progress();
  [[nodiscard]] Session& session() const { return *session_; }
  [[nodiscard]] const PacketCounters& counters() const { return counters_; }

 private:
  using Time = SlotLine::Time;

  /// A clock that stands still while nobody calls progress(): what arrives meanwhile is not late.
  Time look_at_clock();
  /// Of a line: when its oldest packet is sent again, unless a sum comes before.
  struct Patience {
    Time due{};
    int tries = 1;
  };
  /// Of a line whose oldest packet was lost without others overtaking it: those behind it were sent
  /// before `lost_before` and were lost, too. Each sum pays for sending two of them again.
  struct Recovery {
    Time lost_before{};
    std::size_t credit = 0;
  };
  std::size_t index_of(std::uint32_t round) const { return round % lines_.size(); }
  bool receive(Time now);
  void take(const PacketSocket::Arrived& packet, Time now);
  void learn_from(const SlotLine::Flight& flight, std::size_t line, Time now);
  void restart(std::size_t line, Time now);
  void send_lost(Time now);
  void send_due(std::size_t line, Time now);
  void cut_packets(Time now);
  void put(SlotLine& line, SlotLine::Flight& flight, Time now);
  void send();
  void check_silence(Time now) const;
  [[nodiscard]] std::size_t under_way() const;

  std::shared_ptr<Session> session_;
  ClientOptions options_;
  cohom_header blank_{};  ///< what all packets have in common
  std::vector<SlotLine> lines_;
  std::vector<Patience> patience_;  ///< by line
  std::vector<Recovery> recovery_;  ///< by line
  std::vector<OutgoingPacket> outgoing_;
  std::vector<SlotLine::Flight*> outgoing_flights_;
  RoundTrip round_trip_;
  PacketCounters counters_;
  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
  Time clock_{};
  Time heard_{};         ///< when the aggregator last gave a sign, or had nothing to say
  bool unsent_ = false;  ///< the system did not take all that was to be sent
};

}  // namespace cohom::offload
