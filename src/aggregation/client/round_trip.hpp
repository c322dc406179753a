#pragma once
// RoundTrip: how long the aggregator takes to answer, and how long to wait before asking again
// (Jacobson and Karels, SIGCOMM'88; repeated packets are no samples: Karn and Partridge,
// SIGCOMM'87).

#include <algorithm>
#include <chrono>

namespace cohom::offload {

class RoundTrip {
 public:
  using Duration = std::chrono::nanoseconds;

  void sample(Duration time) {
    if (samples_++ == 0) {
      mean_ = time;
      deviation_ = time / 2;
      return;
    }
    const Duration error = time - mean_;
    mean_ += error / 8;
    deviation_ += ((error < Duration{} ? -error : error) - deviation_) / 4;
  }

  /// For a packet that was sent `tries` times.
  [[nodiscard]] Duration timeout(int tries) const {
    const Duration once =
        samples_ == 0 ? first : mean_ + std::max<Duration>(4 * deviation_, margin);
    return std::min<Duration>(once * (1 << std::clamp(tries - 1, 0, 8)), max);
  }
  [[nodiscard]] Duration mean() const { return mean_; }

 private:
  static constexpr std::chrono::milliseconds first{20};
  /// A rank that shares its core is away for a while; that is no loss.
  static constexpr std::chrono::milliseconds margin{4};
  static constexpr std::chrono::milliseconds max{250};

  Duration mean_{}, deviation_{};
  std::size_t samples_ = 0;
};

}  // namespace cohom::offload
