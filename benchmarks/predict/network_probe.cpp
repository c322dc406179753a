#include "predict/network_probe.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace cohom::bench {
namespace {

constexpr int tag = 0;
constexpr std::size_t long_message = 1 << 20;  // bytes
constexpr std::size_t longest_vector = std::size_t{32} << 20;
constexpr int burst = 64;        // messages
constexpr int repetitions = 41;  // of which the median counts

Nanoseconds now() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Nanoseconds median_of(const std::function<void()>& work, int times = 1) {
  std::vector<Nanoseconds> all;
  for (int i = 0; i < repetitions; ++i) {
    const Nanoseconds begin = now();
    for (int k = 0; k < times; ++k) work();
    all.push_back((now() - begin) / times);
  }
  std::ranges::nth_element(all, all.begin() + repetitions / 2);
  return all[repetitions / 2];
}

/// Two ranks, and the rank's own place among them.
struct Pair {
  int first, second;
  MPI_Comm comm;
  bool is_first;

  [[nodiscard]] int peer() const { return is_first ? second : first; }
};

/// Half of what there and back takes, of a message without bytes worth mentioning.
Nanoseconds half_round_trip(const Pair& pair) {
  char byte = 0;
  return 0.5 *
         median_of(
             [&] {
               const auto send = [&] { MPI_Send(&byte, 1, MPI_BYTE, pair.peer(), tag, pair.comm); };
               const auto receive = [&] {
                 MPI_Recv(&byte, 1, MPI_BYTE, pair.peer(), tag, pair.comm, MPI_STATUS_IGNORE);
               };
               if (pair.is_first) send();
               receive();
               if (!pair.is_first) send();
             },
             20);
}

/// Of a message among many, on the side that has more to do.
Nanoseconds time_of_burst(const Pair& pair) {
  std::vector<char> bytes(burst);
  std::vector<MPI_Request> requests(burst);
  const Nanoseconds whole = median_of([&] {
    for (int i = 0; i < burst; ++i) {
      if (pair.is_first)
        MPI_Isend(&bytes[std::size_t(i)], 1, MPI_BYTE, pair.peer(), tag, pair.comm,
                  &requests[std::size_t(i)]);
      else
        MPI_Irecv(&bytes[std::size_t(i)], 1, MPI_BYTE, pair.peer(), tag, pair.comm,
                  &requests[std::size_t(i)]);
    }
    MPI_Waitall(burst, requests.data(), MPI_STATUSES_IGNORE);
    char answer = 0;
    if (pair.is_first)
      MPI_Recv(&answer, 1, MPI_BYTE, pair.peer(), tag, pair.comm, MPI_STATUS_IGNORE);
    else
      MPI_Send(&answer, 1, MPI_BYTE, pair.peer(), tag, pair.comm);
  });
  return whole / burst;
}

/// Messages one behind the other in a vector, and from its end on again from its beginning.
class Messages {
 public:
  explicit Messages(std::size_t vector_bytes)
      : data_(std::clamp(vector_bytes, long_message, longest_vector)) {}

  static constexpr int bytes = static_cast<int>(long_message);
  char* next() {
    if (position_ + long_message > data_.size()) position_ = 0;
    char* const message = data_.data() + position_;
    position_ += long_message;
    return message;
  }

 private:
  std::vector<char> data_;
  std::size_t position_ = 0;
};

/// One way, from the first rank to the second.
Rate one_way(const Pair& pair, std::size_t vector_bytes) {
  Messages messages(vector_bytes);
  char answer = 0;
  const Nanoseconds time = median_of([&] {
    if (pair.is_first) {
      MPI_Send(messages.next(), Messages::bytes, MPI_BYTE, pair.peer(), tag, pair.comm);
      MPI_Recv(&answer, 1, MPI_BYTE, pair.peer(), tag, pair.comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(messages.next(), Messages::bytes, MPI_BYTE, pair.peer(), tag, pair.comm,
               MPI_STATUS_IGNORE);
      MPI_Send(&answer, 1, MPI_BYTE, pair.peer(), tag, pair.comm);
    }
  });
  return long_message / time;
}

/// Each of these ranks sends to the next one, and has a message of the one before, all at once.
Rate all_at_once(const std::vector<int>& ranks, int own, MPI_Comm comm, std::size_t vector_bytes) {
  const auto place = static_cast<std::size_t>(std::ranges::find(ranks, own) - ranks.begin());
  const int next = ranks[(place + 1) % ranks.size()];
  const int before = ranks[(place + ranks.size() - 1) % ranks.size()];
  Messages out(vector_bytes), in(vector_bytes);
  const Nanoseconds time = median_of([&] {
    MPI_Sendrecv(out.next(), Messages::bytes, MPI_BYTE, next, tag, in.next(), Messages::bytes,
                 MPI_BYTE, before, tag, comm, MPI_STATUS_IGNORE);
  });
  return long_message / time;
}

bool has(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

class Probe {
 public:
  Probe(MPI_Comm comm, const RankGroups& nodes, std::size_t vector_bytes)
      : comm_(comm),
        vector_bytes_(vector_bytes),
        dealt_(nodes.count > 1 && nodes.of_rank[0] != nodes.of_rank[1]) {
    MPI_Comm_rank(comm, &rank_);
    for (std::uint32_t node = 0; node < nodes.count; ++node) {
      const std::vector<int> ranks = nodes.ranks_of(node);
      leaders_.push_back(ranks.front());
      if (ranks.size() > largest_.size()) largest_ = ranks;
    }
  }

  ProbedNetwork run() {
    ProbedNetwork network{.shape = {.name = "measured",
                                    .ranks_a_node = static_cast<int>(largest_.size()),
                                    .hop = 0,
                                    .adapter_gap = 0},
                          .dealt = dealt_,
                          .near = largest_.size() > 1,
                          .far = leaders_.size() > 1};
    network.threads_a_node = threads_a_node();
    NetworkShape& shape = network.shape;
    if (network.near) inside(shape);
    if (network.far) between(shape);
    // Each message costs the one overhead, which is that between nodes where there are several.
    if (network.near) shape.memory_latency = std::max(0.0, near_trip_ - 2 * shape.overhead);
    return network;
  }

 private:
  void inside(NetworkShape& shape) {
    const double trip = of_pair(largest_[0], largest_[1], half_round_trip);
    shape.overhead = std::min(of_pair(largest_[0], largest_[1], time_of_burst), trip / 2);
    near_trip_ = trip;
    shape.copy = of_pair(largest_[0], largest_[1],
                         [&](const Pair& pair) { return one_way(pair, vector_bytes_); });
    const double each = slowest(has(largest_, rank_),
                                [&] { return all_at_once(largest_, rank_, comm_, vector_bytes_); });
    shape.memory = std::max(each * static_cast<double>(largest_.size()), shape.copy);
  }

  void between(NetworkShape& shape) {
    const double trip = of_pair(leaders_[0], leaders_[1], half_round_trip);
    shape.overhead = std::min(of_pair(leaders_[0], leaders_[1], time_of_burst), trip / 2);
    shape.latency = trip - 2 * shape.overhead;
    shape.link = slowest(has(leaders_, rank_),
                         [&] { return all_at_once(leaders_, rank_, comm_, vector_bytes_); });
  }

  /// What one rank measures, on all ranks.
  double of_pair(int first, int second, const std::function<double(const Pair&)>& measure) {
    double value = 0;
    if (rank_ == first || rank_ == second) value = measure({first, second, comm_, rank_ == first});
    wait_for_all(comm_);
    MPI_Bcast(&value, 1, MPI_DOUBLE, first, comm_);
    return value;
  }

  /// The least of what those who take part measure, on all ranks.
  double slowest(bool takes_part, const std::function<double()>& measure) {
    double value = std::numeric_limits<double>::max();
    if (takes_part) value = measure();
    wait_for_all(comm_);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, comm_);
    return value;
  }

  /// Of the node with most ranks.
  int threads_a_node() {
    cpu_set_t own;
    CPU_ZERO(&own);
    const bool takes_part = has(largest_, rank_);
    if (takes_part) sched_getaffinity(0, sizeof own, &own);
    MPI_Allreduce(MPI_IN_PLACE, &own, sizeof own, MPI_BYTE, MPI_BOR, comm_);
    return std::max(1, CPU_COUNT(&own));
  }

  MPI_Comm comm_;
  std::size_t vector_bytes_;
  bool dealt_;
  int rank_ = 0;
  Nanoseconds near_trip_ = 0;  ///< of a message inside a node
  std::vector<int> leaders_;   ///< each node's first rank
  std::vector<int> largest_;   ///< the ranks of the node with most
};

}  // namespace

std::string ProbedNetwork::describe() const {
  std::string text = fmt::format("{:.2f} us a message and side", shape.overhead / 1000);
  if (near)
    text += fmt::format("; inside a node {:.2f} us, {:.1f} GB/s, {:.1f} GB/s of all its ranks",
                        shape.memory_latency / 1000, shape.copy, shape.memory);
  if (far)
    text += fmt::format("; between nodes {:.1f} us, {:.3g} Gbit/s", shape.latency / 1000,
                        8 * shape.link);
  return text + fmt::format("; {} hardware threads a node", threads_a_node);
}

void wait_for_all(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

ProbedNetwork probe_network(MPI_Comm comm, const RankGroups& nodes, std::size_t vector_bytes) {
  return Probe(comm, nodes, vector_bytes).run();
}

}  // namespace cohom::bench
