#pragma once
// ScheduleRun: programs of all ranks on an EventNetwork.
//
// A call has parts, each a program a rank: the agreement of the call, small rounds, the payload. A
// rank starts a part when it has done the one that the part follows. A rank does one task at a
// time, those first that keep others waiting.

#include "scale/event_network.hpp"
#include "scale/rank_program.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace cohom::bench {

struct CallPart {
  static constexpr int begin_of_call = -1;

  std::function<RankProgram(int rank)> program;
  int follows = begin_of_call;  ///< number of an earlier part
  bool by_unit = false;         ///< each unit follows that part's unit of its number
  bool comes_first = false;     ///< before all other work that a rank could do
  std::size_t message_bytes = NetworkShape::message_bytes;  ///< of which longer ones are made
  /// Times its bytes: the room that a message leaves, by which both ends know how many there are.
  double room = 1;
};

struct SimulatedCall {
  Nanoseconds time = 0;                  ///< until the last rank is done
  std::uint64_t messages = 0;            ///< of the rank that sends most
  std::uint64_t busiest_node_bytes = 0;  ///< sent to other nodes
};

/// @throws std::logic_error for programs that wait for messages that nobody sends
SimulatedCall run_schedules(const NetworkShape& shape, int ranks,
                            const std::vector<CallPart>& parts);

}  // namespace cohom::bench
