#pragma once
// The energy of the ranks' sum, which nmse is relative to. No energy of contributions tells it, as
// ranks may be alike or cancel. So each rank adds its elements up in buckets, with random signs,
// and the squares of the buckets' sums over all ranks add up to the energy of the sum but for a
// chi-square factor (Alon, Matias, Szegedy, STOC'96; buckets: Charikar, Chen, Farach-Colton,
// ICALP'02). Specified in docs/wire-format.md, "packed".

#include "codecs/common/round.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom {

class PackedEnergy {
 public:
  /// What one thread adds up: whole numbers, so that no order of additions matters.
  using Sums = std::vector<double>;

  /// `ranks` vectors of `elements` elements; draws come from `key`.
  PackedEnergy(std::uint32_t ranks, std::size_t elements, std::uint64_t key);

  /// A word each.
  [[nodiscard]] static std::size_t buckets(std::size_t elements);
  /// By how much less the energy may be than it looks: three standard deviations.
  [[nodiscard]] static double margin(std::size_t elements);

  [[nodiscard]] Sums empty() const;
  /// Adds `count` elements from element `first` on, a multiple of a group. All finite magnitudes
  /// that count are below 2^end; what is larger lies beside a value that is not finite, and does
  /// not count.
  void add(ElementType type, const std::byte* elements, std::size_t first, std::size_t count,
           int end, Sums& sums) const;
  /// A rank's words, to be merged by `add`.
  void write(const Sums& sums, Payload out) const;

  /// @throws Error(transport) when the words are no sum of what ranks can have sent.
  void check(ConstPayload sum) const;
  /// The least that the energy of the sum of all ranks is likely to be, in squares of 2^end.
  [[nodiscard]] double at_least(ConstPayload sum) const;

 private:
  template <class T>
  void add_elements(const std::byte* elements, std::size_t first, std::size_t count, int end,
                    Sums& sums) const;
  /// Elements of a rank in one bucket.
  [[nodiscard]] std::size_t depth() const;

  std::uint32_t ranks_;
  std::size_t elements_;
  std::uint64_t key_;
  int precision_;  ///< values of 2^end are 2^precision
};

}  // namespace cohom
