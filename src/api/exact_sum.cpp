#include <cohom/exact_sum.hpp>

#include "api/call_start.hpp"
#include "base/failure.hpp"
#include "base/vector_bytes.hpp"
#include "codecs/exact/exact_accumulator.hpp"
#include "memory/host_elements.hpp"

#include <string>

namespace cohom {

namespace {

std::string elements_of(std::size_t count, ElementType type) {
  return std::to_string(count) + " elements of " + std::string(name_of(type));
}

}  // namespace

ExactSum::ExactSum(std::size_t count, ElementType type) {
  try {
    vector_bytes(count, type);  // there can be such vectors
    added_ = std::make_shared<ExactAccumulator>(count, type);
  } catch (...) {
    throw current_failure("a sum of " + elements_of(count, type));
  }
}
ExactSum::ExactSum(ExactSum&&) noexcept = default;
ExactSum& ExactSum::operator=(ExactSum&&) noexcept = default;
ExactSum::~ExactSum() = default;

std::size_t ExactSum::count() const { return added_->count(); }
ElementType ExactSum::type() const { return added_->type(); }
std::uint64_t ExactSum::vectors() const { return added_->vectors(); }

void ExactSum::expect(std::string_view argument, ElementType type, std::size_t count) const {
  if (type == this->type() && count == this->count()) return;
  throw Error(ErrorKind::invalid_argument,
              std::string(argument) + " has " + elements_of(count, type) + "; the sum is of " +
                  elements_of(this->count(), this->type()) + ", give as many");
}

/// A call in flight has a share in what was added.
void ExactSum::expect_idle(std::string_view next) const {
  if (added_.use_count() > 1)
    throw Error(ErrorKind::state,
                "the sum has a call in flight; wait for it before " + std::string(next));
}

void ExactSum::add(const void* vector) {
  expect_idle("adding a vector");
  if (vectors() >= ExactAccumulator::max_vectors)
    throw Error(ErrorKind::unsupported, "the sum has " + std::to_string(vectors()) +
                                            " vectors, and can have no more; start another one");
  if (vector == nullptr && count() != 0)
    throw Error(ErrorKind::invalid_argument, "vector is null with " + elements_of(count(), type()) +
                                                 " to add; give a buffer of that size");
  try {
    const HostElements elements(vector, count(), type());
    added_->add(elements.data());
  } catch (...) {
    throw current_failure("adding a vector of " + elements_of(count(), type()));
  }
}

void ExactSum::reset() {
  expect_idle("forgetting its vectors");
  added_->reset();
}

Request ExactSum::allreduce_start(void* output, Communicator& communicator,
                                  const Options& options) const {
  return start_call({.output = output, .shape = {count(), type()}, .added = added_}, communicator,
                    options);
}

}  // namespace cohom
