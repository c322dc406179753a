#pragma once
// SlotEngine: moves the packets of all reductions under way in one session. Used by the caller's
// thread.

#include "aggregation/client/data_path.hpp"
#include "aggregation/client/packet_socket.hpp"
#include "aggregation/client/round_trip.hpp"
#include "aggregation/client/send_window.hpp"
#include "aggregation/net/patient_clock.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace cohom::offload {

class SlotEngine {
 public:
  /// The socket outlives it.
  SlotEngine(PacketSocket& socket, const PathSetup& setup);

  /// Sequences enter in the same order on all ranks, and leave before they go.
  void enter(ReductionSequence& reductions);
  void leave(const ReductionSequence& reductions);

  /// Takes what has arrived, sends what may leave. @throws Error(transport)
  void progress();
  [[nodiscard]] const PathCounters& counters() const { return counters_; }

 private:
  using Time = SendWindow::Time;

  /// Of a window: when its oldest packet is sent again, unless a sum comes before.
  struct Patience {
    Time due{};
    int tries = 1;
  };
  /// Of a window whose oldest packet was lost without others overtaking it: those behind it were
  /// sent before `lost_before` and were lost, too. Each sum pays for sending two of them again.
  struct Recovery {
    Time lost_before{};
    std::size_t credit = 0;
  };
  std::size_t index_of(std::uint32_t round) const { return round % windows_.size(); }
  bool receive(Time now);
  void take(const PacketSocket::Arrived& packet, Time now);
  void learn_from(const SendWindow::Flight& flight, std::size_t window, Time now);
  void restart(std::size_t window, Time now);
  void send_lost(Time now);
  void send_due(std::size_t window, Time now);
  void cut_packets(Time now);
  void put(SendWindow& window, SendWindow::Flight& flight, Time now);
  void send();
  void check_silence(Time now) const;
  [[nodiscard]] std::size_t under_way() const;

  PacketSocket& socket_;
  ClientOptions options_;
  cohom_header blank_{};  ///< what all packets have in common
  std::vector<SendWindow> windows_;
  std::vector<Patience> patience_;  ///< by window
  std::vector<Recovery> recovery_;  ///< by window
  std::vector<OutgoingPacket> outgoing_;
  std::vector<SendWindow::Flight*> outgoing_flights_;
  RoundTrip round_trip_;
  PathCounters counters_;
  PatientClock clock_;
  Time heard_{};         ///< when the aggregator last gave a sign, or had nothing to say
  bool unsent_ = false;  ///< the system did not take all that was to be sent
};

}  // namespace cohom::offload
