#include "executor/slice_crew.hpp"

#include "base/phase_timer.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace cohom {

namespace {

/// One that runs and one that waits, so that no worker waits for the owner, who may be in a slice.
constexpr std::size_t slices_a_worker = 2;

Phase phase_of(SliceKind kind) {
  switch (kind) {
    case SliceKind::encode: return Phase::encode;
    case SliceKind::decode: return Phase::decode;
    default: return Phase::merge;
  }
}

}  // namespace

void SliceCrew::Job::run() noexcept {
  try {
    owner->run(slice);
  } catch (...) {
    error = std::current_exception();
  }
}

SliceCrew::SliceCrew(WorkerPool* pool, bool takes_back) : pool_(pool), takes_back_(takes_back) {
  if (pool == nullptr) return;
  for (std::size_t i = 0; i < slices_a_worker * pool->workers(); ++i)
    jobs_.push_back(std::make_unique<Job>());
}

void SliceCrew::begin(Profile* profile) {
  stop();
  profile_ = profile;
  usable_ = pool_ != nullptr && pool_->is_of_this_process();
}

void SliceCrew::give(SliceOwner& owner, const Slice& slice) {
  Job& job = *jobs_[given_++];
  job.owner = &owner;
  job.slice = slice;
  job.error = nullptr;
  pool_->give(job);
}

/// The job is over, and free from now on.
void SliceCrew::take(std::size_t position) {
  Job& job = given(position);
  const auto first = jobs_.begin() + static_cast<std::ptrdiff_t>(position);
  std::rotate(first, first + 1, jobs_.begin() + static_cast<std::ptrdiff_t>(given_));
  --given_;
  if (job.error) std::rethrow_exception(std::exchange(job.error, nullptr));
  job.owner->take(job.slice);
}

bool SliceCrew::collect_given() {
  bool moved = false;
  for (std::size_t position = 0; position < given_;) {
    if (!given(position).is_over()) {
      ++position;
      continue;
    }
    take(position);
    moved = true;
  }
  return moved;
}

bool SliceCrew::help_given() {
  const Phase phase = phase_of(given(0).slice.kind);
  end_phase(profile_, Phase::other);
  // Workers begin with the oldest.
  if (Job& newest = given(given_ - 1); takes_back_ && pool_->take_back(newest)) {
    newest.run();
    take(given_ - 1);
  } else {
    std::this_thread::yield();
  }
  end_phase(profile_, phase);
  return true;
}

void SliceCrew::stop_given() noexcept {
  // A process that was forked off has copies of jobs that nobody runs.
  if (pool_->is_of_this_process())
    for (std::size_t i = given_; i-- > 0;)
      if (!pool_->take_back(given(i)))
        while (!given(i).is_over()) std::this_thread::yield();
  given_ = 0;
}

}  // namespace cohom
