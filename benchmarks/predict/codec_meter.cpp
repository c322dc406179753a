#include "predict/codec_meter.hpp"

#include "call/communicator_impl.hpp"
#include "plan/spec.hpp"
#include "scale/codec_model.hpp"
#include "scale/executor_run.hpp"
#include "scale/simulated_transport.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>
#include <cohom/profile.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cohom::bench {
namespace {

constexpr int ranks = 2;
constexpr std::size_t longest = std::size_t{8} << 20, shortest = 64 << 10;  // bytes
constexpr int calls = 5;  // of which the shortest times count

using Seconds = std::array<double, phases>;

/// A rank with a plan, which it calls again and again.
class MeteredRank {
 public:
  MeteredRank(std::shared_ptr<Transport> transport, const Options& options, std::size_t elements)
      : communicator_(std::move(transport)), input_(elements), output_(elements) {
    fill_simulated_input(communicator_.rank(), input_);
    communicator_.set_profile(&profile_);
    options_ = options;
  }

  void start() {
    profile_.reset();
    profile_.start();
    request_ = allreduce_start(input_.data(), output_.data(), input_.size(), ElementType::f32,
                               communicator_, options_);
    profile_.end_phase(Phase::other);
  }
  /// What other ranks did meanwhile is nothing of this one's.
  bool progress() {
    profile_.start();
    return communicator_.progress();
  }
  [[nodiscard]] bool done() const { return communicator_.impl().idle(); }
  void expect_success() { request_.wait(); }
  [[nodiscard]] double seconds(Phase phase) const { return profile_.seconds(phase); }

 private:
  Communicator communicator_;
  Options options_;
  Profile profile_;
  std::vector<float> input_, output_;
  Request request_;
};

class MeteredRanks {
 public:
  MeteredRanks(const Options& options, std::size_t elements) : hub_(*find_network("fat"), ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<MeteredRank>(hub_.transport(rank), options, elements));
  }

  /// Of a rank and call: the least of some calls' means.
  Seconds measure() {
    Seconds least;
    least.fill(std::numeric_limits<double>::infinity());
    for (int call = 0; call < calls; ++call) {
      run();
      for (std::size_t phase = 0; phase < phases; ++phase) {
        double sum = 0;
        for (const auto& rank : ranks_) sum += rank->seconds(static_cast<Phase>(phase));
        least[phase] = std::min(least[phase], sum / ranks);
      }
    }
    return least;
  }

 private:
  void run() {
    std::array<bool, ranks> started{};
    hub_.run([&](int number) {
      MeteredRank& rank = *ranks_[static_cast<std::size_t>(number)];
      if (!std::exchange(started[static_cast<std::size_t>(number)], true)) {
        rank.start();
        return true;
      }
      return !rank.done() && rank.progress();
    });
    for (const auto& rank : ranks_) rank->expect_success();
  }

  SimulatedHub hub_;
  std::vector<std::unique_ptr<MeteredRank>> ranks_;
};

Seconds seconds_of(const std::string& spec, const std::string& algorithm, std::size_t elements) {
  return MeteredRanks({.codec = spec, .algorithm = algorithm, .buffer = "metered"}, elements)
      .measure();
}

Nanoseconds share(double seconds, double parts) { return 1e9 * seconds / parts; }

double of(const Seconds& seconds, Phase phase) { return seconds[static_cast<std::size_t>(phase)]; }

}  // namespace

CodecTimes measure_codec(const std::string& spec, std::size_t vector_bytes) {
  const std::size_t elements = std::clamp(vector_bytes, shortest, longest) / sizeof(float);
  const auto all = static_cast<double>(elements);
  const Spec parsed = parse_spec(spec);
  const CodecModel model = model_codec(parsed.name, parsed.parameters, {elements, ranks}, false);
  const auto bytes = static_cast<double>(model.bytes(
      {.chunks = {}, .form = Form::wide, .contributions = ranks, .room = ranks}, elements));
  const Seconds by_owners = seconds_of(spec, "direct", elements);
  // Each rank adds two sums of the whole vector.
  const Seconds by_doubling = seconds_of(spec, "recursive_doubling", elements);
  return {.agree = share(of(by_owners, Phase::agree), all),
          .encode = share(of(by_owners, Phase::encode), all),
          // An owner adds up all contributions to its chunk: as many elements as a vector has.
          .add_narrow = model.input.narrow ? share(of(by_owners, Phase::merge), all) : 0,
          .add_wide = share(of(by_doubling, Phase::merge), bytes),
          .decode = share(of(by_owners, Phase::decode), all)};
}

std::vector<MeteredCodec> measure_codecs(const std::vector<std::string>& specs,
                                         std::size_t vector_bytes) {
  std::vector<MeteredCodec> codecs{{"raw", measure_codec("raw", vector_bytes)}};
  for (const std::string& spec : specs) {
    codecs.push_back({.spec = spec});
    try {
      codecs.back().times = measure_codec(spec, vector_bytes);
    } catch (const Error&) {
      throw;
    } catch (const std::runtime_error& error) {  // its bytes depend on the vectors
      codecs.back().why_not = error.what();
    }
  }
  return codecs;
}

}  // namespace cohom::bench
