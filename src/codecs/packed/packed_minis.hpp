#pragma once
// PackedMinis: the mini-blocks of a rank's vector that a PackedSample looks at, where the processor
// can read them: in place, or copied together from where they lie.

#include "kernels/packed/packed.hpp"
#include "memory/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace cohom {

class PackedMinis {
 public:
  static constexpr std::size_t max_mini_bytes =
      8 * kernels::packed_mini;  ///< bytes of a mini-block

  /// For lists of at most so many mini-blocks.
  PackedMinis(Memory& memory, std::size_t max_minis)
      : memory_(&memory), copies_(memory.is_host() ? 0 : max_minis * max_mini_bytes) {
    if (memory.is_host()) return;
    minis_.reserve(max_minis);
    addresses_.reserve(max_minis);
  }

  /// Whether the list given to fetch() matters.
  [[nodiscard]] bool wants_list() const { return !memory_->is_host(); }
  /// To be filled, in any order and with repetitions, before fetch().
  [[nodiscard]] std::vector<std::size_t>& list() { return minis_; }

  /// `bytes` of one value of the vector that begins at `values`.
  void fetch(const std::byte* values, std::size_t bytes) {
    values_ = values;
    bytes_ = bytes * kernels::packed_mini;
    if (memory_->is_host()) return;
    std::ranges::sort(minis_);
    // Not of std::ranges, whose subranges clang 14 cannot compile with libstdc++.
    minis_.erase(std::unique(minis_.begin(), minis_.end()), minis_.end());
    addresses_.clear();
    for (const std::size_t mini : minis_) addresses_.push_back(values + mini * bytes_);
    memory_->gather_to_host(copies_.data(), addresses_, bytes_);
  }

  /// The values of a mini-block of the list.
  [[nodiscard]] const std::byte* at(std::size_t mini) const {
    if (memory_->is_host()) return values_ + mini * bytes_;
    const auto place = std::ranges::lower_bound(minis_, mini) - minis_.begin();
    return copies_.data() + static_cast<std::size_t>(place) * bytes_;
  }

 private:
  Memory* memory_;
  std::vector<std::byte> copies_;
  std::vector<std::size_t> minis_;
  std::vector<const void*> addresses_;
  const std::byte* values_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace cohom
