#pragma once
// RankReduction: the reductions of one round as messages from rank to rank, for what an aggregator
// failed to sum.
//
// The ranks form a line. A partial sum goes up the line, each rank adding its contribution behind
// what arrived, and the complete sum comes back down. So contributions are added in the order of
// ranks, as an aggregator adds floats; every rank sends each word at most twice, as in a ring; and
// only neighbours talk. It is the way of a bad day: latency grows with the number of ranks.

#include "kernels/table/kernel_table.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace cohom {

class RankReduction final : public Reduction {
 public:
  /// Reductions under way at once; what is started beyond them waits.
  static constexpr std::size_t max_in_flight = 4;

  /// No reduction has more than `longest` words.
  RankReduction(const kernels::KernelTable& kernels, int rank, int ranks, int round,
                std::size_t message_bytes, std::size_t longest);

  /// A call begins; its channel outlives it. The messages have the tags of the round.
  void begin(Channel& channel);

  /// An empty `sum` for a contribution of some words: this rank has the sum, and others need its
  /// part.
  void start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum, Merge merge,
             std::uint64_t cookie) override;
  std::size_t poll(std::span<Completion> out) override;
  /// Takes one completion of the channel whose cookie is of this round.
  /// @throws Error(transport) for words that are not as many as were to come
  void complete(const Completion& completion);
  /// Which rank it waits for; empty when for none. For messages.
  [[nodiscard]] std::string waits_for() const;

 private:
  enum class Stage { idle, partial_arrives, partial_leaves, sum_arrives, sum_leaves };
  struct Started {
    std::span<const std::uint64_t> contribution;
    std::span<std::uint64_t> sum;
    Merge merge;
    std::uint64_t cookie = 0;
  };
  struct Running {
    Stage stage = Stage::idle;
    std::size_t messages_left = 0;
    std::size_t bytes_left = 0;  ///< to come
    Started reduction;
    std::vector<std::uint64_t> words;  ///< the partial sum, then the sum
  };

  [[nodiscard]] static bool arrives(Stage stage) {
    return stage == Stage::partial_arrives || stage == Stage::sum_arrives;
  }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  [[nodiscard]] bool last() const { return rank_ == ranks_ - 1; }
  void start_waiting();
  void advance(std::size_t index);
  void add_contribution(Running& current) const;
  void enter(std::size_t index, Stage stage);
  void complete_one(std::size_t index);
  void send(std::size_t index, std::span<const std::uint64_t> words, int peer, bool down);
  void receive(std::size_t index, int peer, bool down);
  [[nodiscard]] std::size_t messages(std::size_t bytes) const;

  const kernels::KernelTable& kernels_;
  int rank_, ranks_, round_;
  std::size_t message_bytes_;
  std::vector<Running> in_flight_;

  // Of the call.
  Channel* channel_ = nullptr;
  std::size_t next_ = 0;  ///< reduction number modulo max_in_flight: the same on all ranks
  std::deque<Started> waiting_;
  std::deque<Completion> completed_;
};

}  // namespace cohom
