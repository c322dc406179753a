#pragma once
// DoubleSum: a sum of two numbers, of which the second is what rounding took from the first.
//
// O. Moller (1965) and D. Knuth found the error of an addition; A. Neumaier (1974) keeps it beside
// the sum where Kahan (1965) feeds it to the next addition; Y. He and C. Ding (J. Supercomputing,
// 2001) let MPI_Allreduce add such pairs.

namespace cohom::bench {

template <class T>
struct DoubleSum {
  T sum = 0;
  T error = 0;

  void add(T value) {
    const T next = sum + value;
    const T part = next - sum;
    error += (sum - (next - part)) + (value - part);
    sum = next;
  }

  void add(const DoubleSum& other) {
    add(other.sum);
    error += other.error;
    *this = {sum + error, error - ((sum + error) - sum)};
  }

  [[nodiscard]] T value() const { return sum + error; }
};

}  // namespace cohom::bench
