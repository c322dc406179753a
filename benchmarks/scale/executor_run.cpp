#include "scale/executor_run.hpp"

#include "call/communicator_impl.hpp"
#include "scale/simulated_transport.hpp"

#include <cohom/allreduce.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace cohom::bench {
namespace {

/// One rank's call.
class RankCall {
 public:
  RankCall(std::shared_ptr<Transport> transport, const CallShape& shape)
      : communicator_(std::move(transport)), input_(shape.elements), output_(shape.elements) {
    fill_simulated_input(communicator_.rank(), input_);
    if (communicator_.rank() == 0)
      for (std::size_t i = 0; i < shape.outliers; ++i)
        input_[shape.elements * i / shape.outliers] = std::numeric_limits<float>::infinity();
  }

  void start(const CallShape& shape) {
    request_ = allreduce_start(input_.data(), output_.data(), input_.size(), ElementType::f32,
                               communicator_,
                               {.codec = shape.codec,
                                .algorithm = shape.algorithm,
                                .segment = shape.segment,
                                .buffer = "simulated"});
  }
  bool progress() { return communicator_.progress(); }
  /// Not by the request, which advances all ranks.
  [[nodiscard]] bool done() const { return communicator_.impl().idle(); }
  void expect_success() { request_.wait(); }

  [[nodiscard]] const std::vector<float>& output() const { return output_; }
  [[nodiscard]] std::uint64_t messages() const {
    return communicator_.wire_counters().messages_sent;
  }

 private:
  Communicator communicator_;
  std::vector<float> input_, output_;
  Request request_;
};

/// All ranks' calls. A rank's call is made when the rank first advances.
class AllCalls {
 public:
  AllCalls(const NetworkShape& network, const CallShape& shape, MessageTrace* trace)
      : shape_(shape), hub_(network, shape.ranks, trace), started_(std::size_t(shape.ranks)) {
    for (int rank = 0; rank < shape.ranks; ++rank)
      calls_.push_back(std::make_unique<RankCall>(hub_.transport(rank), shape));
  }

  ExecutedCall run() {
    hub_.run([this](int rank) { return advance(rank); });
    if (done_ != calls_.size()) give_up();
    ExecutedCall result{.call = {.time = end_, .busiest_node_bytes = hub_.busiest_node_bytes()}};
    for (const auto& call : calls_) {
      call->expect_success();
      result.call.messages = std::max(result.call.messages, call->messages());
      result.hashes.push_back(
          XXH3_64bits(call->output().data(), call->output().size() * sizeof(float)));
    }
    return result;
  }

 private:
  bool advance(int number) {
    const auto rank = static_cast<std::size_t>(number);
    RankCall& call = *calls_[rank];
    if (!started_[rank]) {
      started_[rank] = true;
      call.start(shape_);
      return true;
    }
    if (call.done()) return false;
    const bool moved = call.progress();
    if (call.done()) {
      ++done_;
      end_ = std::max(end_, hub_.now(number));
    }
    return moved;
  }

  /// Communicators wait for their calls when they are destroyed, here for ever: so they are not.
  [[noreturn]] void give_up() {
    for (auto& call : calls_) (void)call.release();
    throw std::runtime_error(
        fmt::format("{} of {} ranks wait for ever", calls_.size() - done_, calls_.size()));
  }

  CallShape shape_;
  SimulatedHub hub_;
  std::vector<std::unique_ptr<RankCall>> calls_;
  std::vector<bool> started_;
  std::size_t done_ = 0;
  Nanoseconds end_ = 0;
};

}  // namespace

bool ExecutedCall::identical() const {
  return std::ranges::adjacent_find(hashes, std::not_equal_to{}) == hashes.end();
}

void fill_simulated_input(int rank, std::span<float> vector) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(rank) + 1);
  // Sums of uniform numbers are cheap, and normal enough to have no outliers.
  constexpr int terms = 4;
  for (float& element : vector) {
    double sum = 0;
    for (int i = 0; i < terms; ++i)
      sum += static_cast<double>(random()) / std::minstd_rand::max() - 0.5;
    element = static_cast<float>(sum);
  }
}

ExecutedCall run_executors(const NetworkShape& network, const CallShape& shape,
                           MessageTrace* trace) {
  return AllCalls(network, shape, trace).run();
}

}  // namespace cohom::bench
