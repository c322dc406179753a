#include "measure.hpp"

#include <algorithm>
#include <limits>

namespace cohom::bench {
namespace {

// A rival this much slower than the best one in the warm-up will not win.
constexpr double hopeless = 1.5;

double time_once(const Contender& contender, MPI_Comm comm) {
  contender.prepare();
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  contender.run();
  return MPI_Wtime() - begin;
}

void longest_over_ranks(std::vector<double>& seconds, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                comm);
}

/// Best warm-up time of each contender, or nothing known (0) without warm-up.
std::vector<double> warm_up(std::span<const Contender> contenders, int calls, MPI_Comm comm) {
  std::vector<double> best(contenders.size(), calls == 0 ? 0 : std::numeric_limits<double>::max());
  for (int call = 0; call < calls; ++call) {
    std::vector<double> now;
    for (const Contender& contender : contenders) now.push_back(time_once(contender, comm));
    longest_over_ranks(now, comm);
    std::ranges::transform(best, now, best.begin(),
                           [](double a, double b) { return std::min(a, b); });
  }
  return best;
}

std::vector<bool> choose(std::span<const Contender> contenders, const std::vector<double>& warm) {
  double best_rival = std::numeric_limits<double>::max();
  for (std::size_t c = 0; c < contenders.size(); ++c)
    if (contenders[c].rival) best_rival = std::min(best_rival, warm[c]);
  std::vector<bool> takes_part;
  for (std::size_t c = 0; c < contenders.size(); ++c)
    takes_part.push_back(!contenders[c].rival || warm[c] <= hopeless * best_rival);
  return takes_part;
}

int count_iterations(const TimingPlan& plan, const std::vector<double>& warm,
                     const std::vector<bool>& takes_part) {
  if (plan.iterations > 0) return plan.iterations;
  double turn = 0;
  for (std::size_t c = 0; c < warm.size(); ++c)
    if (takes_part[c]) turn += warm[c];
  const double fitting = plan.budget_seconds / std::max(turn, 1e-9);
  return static_cast<int>(
      std::clamp(fitting, double{TimingPlan::min_calls}, double{TimingPlan::max_calls}));
}

}  // namespace

Timing measure_in_turn(std::span<const Contender> contenders, const TimingPlan& plan,
                       MPI_Comm comm) {
  // Without any call nobody knows how many fit the budget.
  const int warmup = plan.iterations == 0 ? std::max(1, plan.warmup) : plan.warmup;
  const auto warm = warm_up(contenders, warmup, comm);
  const auto takes_part = choose(contenders, warm);

  Timing timing;
  timing.iterations = count_iterations(plan, warm, takes_part);
  std::vector<std::vector<double>> seconds(contenders.size());
  if (plan.warm) plan.warm();
  for (int iteration = 0; iteration < timing.iterations; ++iteration)
    for (std::size_t c = 0; c < contenders.size(); ++c)
      if (takes_part[c]) seconds[c].push_back(time_once(contenders[c], comm));

  for (auto& of_one : seconds) {
    timing.times.emplace_back();
    if (of_one.empty()) continue;
    longest_over_ranks(of_one, comm);
    timing.times.back() = summarise(std::move(of_one));
  }
  return timing;
}

}  // namespace cohom::bench
