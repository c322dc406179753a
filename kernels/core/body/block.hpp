#pragma once
// A body: what a family of kernels does with one block of elements, written once, for the host and
// for devices. A driver makes the kernels of it: the scalar reference (core/cpu/scalar_blocks.hpp),
// the same for every instruction set (core/cpu/block_loops-inl.h), and a device's
// (device_runtime/block_kernels.hpp). core/block_kernels.hpp has their signatures.
//
// A body is a class of static functions, all COHOM_HD. It says how long a block is, how many
// threads of a device share one (a divisor of 32), and what a call tells it besides elements:
//
//   static constexpr std::size_t block;
//   static constexpr unsigned team;
//   struct Settings;  // trivially copyable
//
// A body that measures says what is known of a block. Threads take elements in any order, and then
// join what they have seen: so neither may round. Seen{} has seen nothing.
//
//   using Found; struct Seen;  // trivially copyable
//   static void take(const Settings&, Seen&, Real element);
//   static void join(Seen&, const Seen& other);
//   static Found found(const Settings&, const Seen&);
//
// A body that codes makes words of elements, and elements of words. An Argument is what a call
// tells it of one block, e.g. a scale. words() says how many a block of `count` elements has, and
// encode_block() writes all of them. decode_block() writes all elements and returns true, or writes
// none, and they stay as they are.
//
//   using Argument;  // trivially copyable
//   static std::size_t words(const Settings&, std::size_t count);
//   static void encode_block(team, const Settings&, const Argument&, std::size_t count,
//                            input, kept, std::uint64_t* words);
//   static bool decode_block(team, const Settings&, const Argument&, std::size_t count,
//                            const std::uint64_t* words, kept, output);
//
// All threads of a team call these two. team.each(n, visit) calls visit(i) for every i < n in one
// of them; no thread may read what another one writes. each_of<max_count>() is the same for n up to
// max_count. input, kept and output are the classes below; input and kept may be the same memory,
// so element i of kept is written after element i of input was read. raw() and put_raw() move
// elements without a conversion.

#include "kernels/core/body/element.hpp"
#include "kernels/core/hd.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cohom::kernels {

/// Elements that are cut into blocks; the last may be ragged.
struct BlockRun {
  ElementType type = ElementType::f32;
  std::size_t count = 0;
};

template <class Body>
concept MeasuringBody = std::is_trivially_copyable_v<typename Body::Settings> &&
    std::is_trivially_copyable_v<typename Body::Seen> &&
    std::is_trivially_copyable_v<typename Body::Found>;

template <class Body>
concept CodingBody = std::is_trivially_copyable_v<typename Body::Settings> &&
    std::is_trivially_copyable_v<typename Body::Argument> &&
    requires(const typename Body::Settings& settings) {
  {Body::words(settings, std::size_t{})};
};

}  // namespace cohom::kernels

namespace cohom::kernels::body {

/// The team of a processor: one thread does all.
struct Alone {
  template <class Visit>
  COHOM_HD void each(std::size_t count, Visit visit) const {
    for (std::size_t i = 0; i < count; ++i) visit(i);
  }
  /// The same, of so many at most.
  template <std::size_t, class Visit>
  COHOM_HD void each_of(std::size_t count, Visit visit) const {
    each(count, visit);
  }
};

/// One of `size` threads.
template <unsigned size>
struct TeamThread {
  unsigned thread;

  template <class Visit>
  COHOM_HD void each(std::size_t count, Visit visit) const {
    for (std::size_t i = thread; i < count; i += size) visit(i);
  }
  /// No loop where no thread has two.
  template <std::size_t max_count, class Visit>
  COHOM_HD void each_of(std::size_t count, Visit visit) const {
    if constexpr (max_count > size)
      each(count, visit);
    else if (thread < count)
      visit(std::size_t{thread});
  }
};

/// Elements of a block that are read.
template <class T>
class BlockInput {
 public:
  using Element = T;
  using Real = Arithmetic<T>;
  COHOM_HD explicit BlockInput(const void* elements) : elements_(elements) {}

  [[nodiscard]] COHOM_HD Real operator[](std::size_t i) const {
    return load_element<T>(elements_, i);
  }
  /// As it is stored.
  [[nodiscard]] COHOM_HD T raw(std::size_t i) const { return load_raw<T>(elements_, i); }

 private:
  const void* elements_;
};

/// Elements of a block that are written.
template <class T>
class BlockOutput {
 public:
  using Real = Arithmetic<T>;
  COHOM_HD explicit BlockOutput(void* elements) : elements_(elements) {}

  COHOM_HD void put(std::size_t i, Real value) const { store_element<T>(elements_, i, value); }
  /// For values that many elements have: as it is stored.
  [[nodiscard]] COHOM_HD T stored(Real value) const { return from_arithmetic<T>(value); }
  COHOM_HD void put_raw(std::size_t i, T element) const { store_raw(elements_, i, element); }

 private:
  void* elements_;
};

/// What a codec keeps of elements between calls, a number each, or nothing.
template <class Real>
class BlockKept {
 public:
  /// Those of the vector from its element `first` on; null stays null.
  COHOM_HD BlockKept(void* numbers, std::size_t first)
      : numbers_(numbers == nullptr ? nullptr : element_at<Real>(numbers, first)) {}

  [[nodiscard]] COHOM_HD explicit operator bool() const { return numbers_ != nullptr; }
  [[nodiscard]] COHOM_HD Real operator[](std::size_t i) const {
    return load_element<Real>(numbers_, i);
  }
  COHOM_HD void put(std::size_t i, Real value) const { store_element<Real>(numbers_, i, value); }

 private:
  void* numbers_;
};

}  // namespace cohom::kernels::body
