#pragma once
// ExactSum: a rank contributes any number of vectors to one sum, which is rounded once.

#include <cohom/cxx20.hpp>

#include <cohom/allreduce.hpp>
#include <cohom/communicator.hpp>
#include <cohom/element_type.hpp>
#include <cohom/error.hpp>
#include <cohom/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string_view>

namespace cohom {

class ExactAccumulator;

/// The vectors that this rank contributes to a sum, or mean, over all vectors of all ranks: each
/// element of the result is the exact sum (of a mean its exact quotient), rounded once to nearest,
/// ties to even. So the same vectors give the same bits however they are dealt to ranks, and on any
/// number of ranks. Numbers are added as long integers (Kulisch's accumulator; docs/theory.md). It
/// belongs to no communicator. One thread at a time. It may be moved or destroyed while calls are
/// in flight. What was moved from can only be destroyed or assigned to.
class ExactSum {
 public:
  /// Of vectors of `count` elements; there are none yet. Local, like all functions but allreduce()
  /// and allreduce_start().
  /// Takes 1.5 bytes an element, and more with the first vectors.
  /// @throws Error: invalid_argument for more elements than can be addressed, or a number that is
  /// no ElementType; memory
  ExactSum(std::size_t count, ElementType type);
  ExactSum(ExactSum&&) noexcept;
  ExactSum& operator=(ExactSum&&) noexcept;
  ~ExactSum();

  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] ElementType type() const;
  /// How many were added.
  [[nodiscard]] std::uint64_t vectors() const;

  /// Adds a vector of count() elements, in the host's memory or a device's, which is read at once.
  /// Memory is taken as numbers need it: 8 bytes an element for each 32 bits of exponents that 16
  /// neighbours have had. May wait for a device.
  /// @throws Error: invalid_argument for a null pointer with elements to add; unsupported for more
  /// than 2^32 - 1 vectors; state while a call is in flight: then nothing changes. memory: where a
  /// part of the vector was added, calls are errors (on all ranks) until reset()
  void add(const void* vector);
  /// The same of a vector, array or span. @throws Error(invalid_argument), too, for another size or
  /// type; nothing changes.
  template <ElementRange Vector>
  void add(const Vector& vector) {
    expect("vector", element_type_v<std::ranges::range_value_t<Vector>>, std::ranges::size(vector));
    add(static_cast<const void*>(std::ranges::data(vector)));
  }
  /// Forgets all vectors. Memory stays for the next ones.
  /// @throws Error(state) while a call is in flight
  void reset();

  /// Starts: `output` (count() elements) := sum or mean of all vectors of all ranks. Ranks may have
  /// added different numbers of vectors, also none. Without any vector a sum is 0 and a mean NaN.
  /// The vectors stay: later calls include them. `output` may be a device's. Collective. Several
  /// calls may be in flight; until all are complete nothing may be added. Errors are those of
  /// cohom::allreduce_start(), and on all ranks: invalid_argument for another Options::codec than
  /// `exact` or none (COHOM_CODEC is not read); mismatch where count() or type() differ;
  /// unsupported where a rank of n has added more than (2^32 - 1) / n vectors.
  [[nodiscard]] Request allreduce_start(void* output, Communicator& communicator,
                                        const Options& options = {}) const;
  /// Blocking form. @throws what cohom::allreduce() does, and the above
  void allreduce(void* output, Communicator& communicator, const Options& options = {}) const {
    allreduce_start(output, communicator, options).wait();
  }
  /// Typed form; a range of another size or type is an error on all ranks.
  template <ElementRange Output>
  void allreduce(Output&& output, Communicator& communicator, const Options& options = {}) const {
    try {
      expect("output", element_type_v<std::ranges::range_value_t<Output>>,
             std::ranges::size(output));
    } catch (const Error& error) {
      return allreduce_fail(error, communicator).wait();
    }
    allreduce(static_cast<void*>(std::ranges::data(output)), communicator, options);
  }

 private:
  void expect(std::string_view argument, ElementType type, std::size_t count) const;
  void expect_idle(std::string_view next) const;

  std::shared_ptr<ExactAccumulator> added_;
};

}  // namespace cohom
