#include "reproducible/binned_sum.hpp"

#include <algorithm>

namespace cohom::bench {

template <class T>
T BinnedSum<T>::limit() {
  return power_of_two(exponent_of(highest_bin) - precision + width);
}

template <class T>
int BinnedSum<T>::bin_for(T value) {
  const int end = std::ilogb(value) + 1;  // |value| < 2^end
  const int above = end + precision - width - lowest_exponent;
  const int lowest = static_cast<int>(fold) - 1;
  return above <= lowest * width ? lowest : (above + width - 1) / width;
}

template <class T>
T BinnedSum<T>::neutral(int bin) {
  return T{1.5} * power_of_two(exponent_of(bin));
}

template <class T>
int BinnedSum<T>::highest() const {
  return (std::ilogb(primary_[0]) - lowest_exponent) / width;
}

/// Lets the highest bin be `bin`, or leaves it where that is higher.
template <class T>
void BinnedSum<T>::raise_to(int bin) {
  const std::size_t by = empty() ? fold : static_cast<std::size_t>(std::max(0, bin - highest()));
  for (std::size_t k = fold; by != 0 && k-- > 0;) {
    const bool kept = k >= by;
    primary_[k] = kept ? primary_[k - by] : neutral(bin - static_cast<int>(k));
    carry_[k] = kept ? carry_[k - by] : T{0};
  }
}

template <class T>
void BinnedSum<T>::add(const BinnedSum& other) {
  if (other.empty()) return;
  raise_to(other.highest());
  const int top = highest();
  const auto below = static_cast<std::size_t>(top - other.highest());
  for (std::size_t k = below; k < fold; ++k) {
    primary_[k] += other.primary_[k - below] - neutral(top - static_cast<int>(k));
    carry_[k] += other.carry_[k - below];
  }
  carry();
}

template <class T>
T BinnedSum<T>::value() const {
  if (empty()) return 0;
  const int top = highest();
  double sum = 0;
  for (std::size_t k = 0; k < fold; ++k) {
    const int bin = top - static_cast<int>(k);
    sum += std::ldexp(static_cast<double>(carry_[k]), exponent_of(bin) - 2);
    sum += static_cast<double>(primary_[k] - neutral(bin));
  }
  return static_cast<T>(sum);
}

template class BinnedSum<float>;
template class BinnedSum<double>;

}  // namespace cohom::bench
