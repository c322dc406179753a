#include "aggregation/server/address_trials.hpp"

#include "base/log.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace cohom::offload {

namespace {

/// Members of a group come one after the other; after that the probe's process goes.
constexpr std::chrono::seconds rest_after{2};

}  // namespace

AddressTrials::AddressTrials(const ucx::ContextSettings& settings, Done done)
    : done_(std::move(done)) {
  if (auto program = ucx::probe_program()) {
    probe_ = std::make_unique<ucx::AddressProbe>(std::move(*program), settings);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } else {
    warn_once("no safe cohom-ucx-probe is there: UCX addresses of members are taken untried");
  }
}

void AddressTrials::put(AddressTrial trial) {
  if (!probe_) return done_(trial, {});
  {
    const std::lock_guard guard(mutex_);
    auto& queue = std::ranges::find(bad_jobs_, trial.job) == bad_jobs_.end() ? queue_ : last_queue_;
    queue.push_back(std::move(trial));
  }
  news_.notify_one();
}

void AddressTrials::forget(std::uint32_t group) {
  const std::lock_guard guard(mutex_);
  for (auto* const queue : {&queue_, &last_queue_})
    std::erase_if(*queue, [&](const AddressTrial& trial) { return trial.group == group; });
}

AddressTrial AddressTrials::next() {
  auto& queue = queue_.empty() ? last_queue_ : queue_;
  AddressTrial trial = std::move(queue.front());
  queue.pop_front();
  return trial;
}

void AddressTrials::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    const auto some = [this] { return has_some(); };
    if (!news_.wait_for(lock, stop, rest_after, some)) {
      probe_->rest();
      if (!news_.wait(lock, stop, some)) return;
    }
    const AddressTrial trial = next();
    lock.unlock();
    const std::string why_not = try_address(trial, stop);
    if (!stop.stop_requested()) done_(trial, why_not);
  }
}

std::string AddressTrials::try_address(const AddressTrial& trial, const std::stop_token& stop) {
  try {
    std::string why_not = probe_->why_not(trial.address, stop);
    const std::lock_guard guard(mutex_);
    // That of a parent is not of the job's choice.
    if (!why_not.empty() && trial.worker) bad_jobs_[next_bad_job_++ % bad_jobs_.size()] = trial.job;
    return why_not;
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception&) {
    return "no memory";  // a text that needs none
  }
}

}  // namespace cohom::offload
