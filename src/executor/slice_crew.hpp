#pragma once
// SliceCrew: the slices of one executor that workers run. The thread that advances the call gives
// them away, takes in those that are over, and runs one itself when it has nothing better to do.

#include "base/worker_pool.hpp"
#include "executor/slice.hpp"

#include <cohom/profile.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

namespace cohom {

class SliceCrew {
 public:
  /// Null: the calling thread runs all slices. Allocates all that it will need; `pool` outlives it.
  /// `takes_back`: help() runs slices; else it waits for workers.
  explicit SliceCrew(WorkerPool* pool, bool takes_back = true);
  ~SliceCrew() { stop(); }
  SliceCrew(const SliceCrew&) = delete;
  SliceCrew& operator=(const SliceCrew&) = delete;

  /// Before a call: whether there are workers in this process.
  void begin(Profile* profile);
  [[nodiscard]] bool has_workers() const { return usable_; }
  /// Whether a slice can be given away; else the workers have enough to do, or there are none.
  [[nodiscard]] bool takes_one() const { return usable_ && given_ != jobs_.size(); }
  /// Gives a slice away. `owner` stays until the slice is taken in. Only when it takes_one().
  void give(SliceOwner& owner, const Slice& slice);
  /// Takes in what is over, in the order in which it was given. Whether anything was.
  /// @throws what a slice threw: then stop() comes next
  bool collect() { return given_ != 0 && collect_given(); }
  /// There is nothing else to do: runs a slice that no worker has begun, or lets others run.
  /// False: no slice is given away.
  bool help() { return given_ != 0 && help_given(); }
  /// Takes back all slices, and waits for those that run. Their results are lost.
  void stop() noexcept {
    if (given_ != 0) stop_given();
  }

 private:
  struct Job final : WorkerJob {
    void run() noexcept override;

    SliceOwner* owner = nullptr;
    Slice slice;
    std::exception_ptr error;
  };

  bool collect_given();
  bool help_given();
  void stop_given() noexcept;
  void take(std::size_t position);
  [[nodiscard]] Job& given(std::size_t position) { return *jobs_[position]; }

  WorkerPool* pool_;
  bool takes_back_;
  Profile* profile_ = nullptr;  ///< of the call in flight
  bool usable_ = false;
  /// The first given_ are given away, in their order; the others are free.
  std::vector<std::unique_ptr<Job>> jobs_;
  std::size_t given_ = 0;
};

}  // namespace cohom
