// The method of this library: every vector of a rank is added exactly, and the sum rounded once.

#include "reproducible/method.hpp"

#include <cohom/exact_sum.hpp>
#include <cohom/mpi.hpp>

namespace cohom::bench {
namespace {

template <class T>
class Exact final : public Method<T> {
 public:
  explicit Exact(const SumSize& size)
      : communicator_(mpi::communicator(size.comm)), sum_(size.elements, element_type_v<T>) {}

  void sum(const LocalVectors<T>& vectors, std::span<T> out) override {
    sum_.reset();
    for (std::size_t k = 0; k < vectors.size(); ++k) sum_.add(vectors[k]);
    const std::uint64_t before = communicator_.wire_counters().bytes_sent;
    sum_.allreduce(out, communicator_);
    const std::uint64_t sent = communicator_.wire_counters().bytes_sent - before;
    const auto ranks = static_cast<std::uint64_t>(communicator_.ranks());
    // An allreduce of a vector by a ring sends 2 (ranks - 1) / ranks of it.
    bytes_ = ranks == 1 ? 0 : sent * ranks / (2 * (ranks - 1));
  }

  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }

 private:
  Communicator communicator_;
  ExactSum sum_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Method<T>> make_exact(const SumSize& size) {
  return std::make_unique<Exact<T>>(size);
}

template std::unique_ptr<Method<float>> make_exact(const SumSize&);
template std::unique_ptr<Method<double>> make_exact(const SumSize&);

}  // namespace cohom::bench
