// Methods whose bits do not depend on the ranks, nor on the order.

#include "reproducible/binned_sum.hpp"
#include "reproducible/integer_digits.hpp"
#include "reproducible/method.hpp"
#include "reproducible/mpi_of.hpp"

#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cohom::bench {
namespace {

/// Two reductions: the exponents, then the digits of all elements.
template <class T>
class Reprosum final : public Method<T> {
 public:
  explicit Reprosum(const SumSize& size) : size_(size) {}

  void sum(const LocalVectors<T>& vectors, std::span<T> out) override {
    const IntegerDigits digits(agree(vectors), size_.vectors);
    const std::size_t each = digits.size();
    digits_.assign(out.size() * each, 0);
    const auto of_element = [&](std::size_t i) {
      return std::span(digits_).subspan(i * each, each);
    };
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      const std::span<const T> vector = vectors[k];
      for (std::size_t i = 0; i < out.size(); ++i)
        digits.add(static_cast<double>(vector[i]), &digits_[i * each]);
    }
    MPI_Allreduce(MPI_IN_PLACE, digits_.data(), static_cast<int>(digits_.size()), MPI_INT64_T,
                  MPI_SUM, size_.comm);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(digits.value(of_element(i)));
  }

  [[nodiscard]] std::uint64_t bytes() const override {
    return sizeof(Extremes) + digits_.size() * sizeof(std::int64_t);
  }

 private:
  using Extremes = std::array<int, 2>;

  BitRange agree(const LocalVectors<T>& vectors) const {
    const BitRange range = range_of(vectors.values());
    Extremes extremes = {range.end, -range.lowest};
    MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_INT, MPI_MAX, size_.comm);
    return {.lowest = -extremes[1], .end = extremes[0]};
  }

  SumSize size_;
  std::vector<std::int64_t> digits_;
};

template <class T>
class Binned final : public Method<T> {
 public:
  explicit Binned(const SumSize& size) : size_(size), sums_(size.elements) {}

  void check(const LocalVectors<T>& vectors) const override {
    for (const T value : vectors.values())
      if (!(std::abs(value) < BinnedSum<T>::limit()))
        throw InputError(
            fmt::format("method binned adds numbers below {:g}, not {:g}; leave it out "
                        "with --method",
                        BinnedSum<T>::limit(), value));
  }

  void sum(const LocalVectors<T>& vectors, std::span<T> out) override {
    std::ranges::fill(sums_, BinnedSum<T>{});
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      const std::span<const T> vector = vectors[k];
      for (std::size_t i = 0; i < out.size(); ++i) sums_[i].add(vector[i]);
    }
    MPI_Allreduce(MPI_IN_PLACE, sums_.data(), static_cast<int>(sums_.size()), op_.type(), op_.op(),
                  size_.comm);
    std::ranges::transform(sums_, out.begin(), [](const auto& sum) { return sum.value(); });
  }

  [[nodiscard]] std::uint64_t bytes() const override {
    return size_.elements * sizeof(BinnedSum<T>);
  }

 private:
  SumSize size_;
  SumOp<BinnedSum<T>> op_;
  std::vector<BinnedSum<T>> sums_;
};

}  // namespace

template <class T>
std::unique_ptr<Method<T>> make_reprosum(const SumSize& size) {
  return std::make_unique<Reprosum<T>>(size);
}
template <class T>
std::unique_ptr<Method<T>> make_binned(const SumSize& size) {
  return std::make_unique<Binned<T>>(size);
}

template std::unique_ptr<Method<float>> make_reprosum(const SumSize&);
template std::unique_ptr<Method<double>> make_reprosum(const SumSize&);
template std::unique_ptr<Method<float>> make_binned(const SumSize&);
template std::unique_ptr<Method<double>> make_binned(const SumSize&);

}  // namespace cohom::bench
