// Methods whose additions round: their bits depend on who adds what, and when.

#include "reproducible/double_sum.hpp"
#include "reproducible/method.hpp"
#include "reproducible/mpi_of.hpp"

#include <algorithm>

namespace cohom::bench {
namespace {

template <class T>
class Plain final : public Method<T> {
 public:
  explicit Plain(const SumSize& size) : size_(size) {}

  void sum(const LocalVectors<T>& vectors, std::span<T> out) override {
    std::ranges::fill(out, T{0});
    if (vectors.size() != 0) std::ranges::copy(vectors[0], out.begin());
    for (std::size_t k = 1; k < vectors.size(); ++k) {
      const std::span<const T> vector = vectors[k];
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += vector[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, out.data(), static_cast<int>(out.size()), mpi_type_of<T>(), MPI_SUM,
                  size_.comm);
  }

  [[nodiscard]] std::uint64_t bytes() const override { return size_.elements * sizeof(T); }

 private:
  SumSize size_;
};

template <class T>
void add_all(const LocalVectors<T>& vectors, std::span<DoubleSum<T>> sums) {
  std::ranges::fill(sums, DoubleSum<T>{});
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    const std::span<const T> vector = vectors[k];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add(vector[i]);
  }
}

template <class T>
class Kahan final : public Method<T> {
 public:
  explicit Kahan(const SumSize& size) : size_(size), sums_(size.elements) {}

  void sum(const LocalVectors<T>& vectors, std::span<T> out) override {
    add_all<T>(vectors, sums_);
    std::ranges::transform(sums_, out.begin(), [](const auto& sum) { return sum.value(); });
    MPI_Allreduce(MPI_IN_PLACE, out.data(), static_cast<int>(out.size()), mpi_type_of<T>(), MPI_SUM,
                  size_.comm);
  }

  [[nodiscard]] std::uint64_t bytes() const override { return size_.elements * sizeof(T); }

 private:
  SumSize size_;
  std::vector<DoubleSum<T>> sums_;
};

template <class T>
class DoubleDouble final : public Method<T> {
 public:
  explicit DoubleDouble(const SumSize& size) : size_(size), sums_(size.elements) {}

  void sum(const LocalVectors<T>& vectors, std::span<T> out) override {
    add_all<T>(vectors, sums_);
    MPI_Allreduce(MPI_IN_PLACE, sums_.data(), static_cast<int>(sums_.size()), op_.type(), op_.op(),
                  size_.comm);
    std::ranges::transform(sums_, out.begin(), [](const auto& sum) { return sum.value(); });
  }

  [[nodiscard]] std::uint64_t bytes() const override {
    return size_.elements * sizeof(DoubleSum<T>);
  }

 private:
  SumSize size_;
  SumOp<DoubleSum<T>> op_;
  std::vector<DoubleSum<T>> sums_;
};

}  // namespace

template <class T>
std::unique_ptr<Method<T>> make_plain(const SumSize& size) {
  return std::make_unique<Plain<T>>(size);
}
template <class T>
std::unique_ptr<Method<T>> make_kahan(const SumSize& size) {
  return std::make_unique<Kahan<T>>(size);
}
template <class T>
std::unique_ptr<Method<T>> make_double_double(const SumSize& size) {
  return std::make_unique<DoubleDouble<T>>(size);
}

template std::unique_ptr<Method<float>> make_plain(const SumSize&);
template std::unique_ptr<Method<double>> make_plain(const SumSize&);
template std::unique_ptr<Method<float>> make_kahan(const SumSize&);
template std::unique_ptr<Method<double>> make_kahan(const SumSize&);
template std::unique_ptr<Method<float>> make_double_double(const SumSize&);
template std::unique_ptr<Method<double>> make_double_double(const SumSize&);

}  // namespace cohom::bench
