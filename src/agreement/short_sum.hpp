#pragma once
// ShortSum: a vector so short that it travels with the words by which ranks agree on a call, and is
// added on the way: such a call has no other messages.
//
// Partial sums stay here. The user's output is written when the last hop has said that all ranks
// make the same call.

#include "kernels/table/kernel_table.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohom {

class ShortSum {
 public:
  /// Longer vectors travel apart. Who receives has room for so many bytes behind the words, whether
  /// its own call is short or not.
  static constexpr std::size_t max_bytes = std::size_t{16} << 10;

  static constexpr std::size_t max_vectors = 8;  ///< of add_all()

  /// `divisor`: of the sum. `head_bytes`: room for what stands before the elements. `checksum`: of
  /// all bytes, not of the head alone.
  ShortSum(const kernels::KernelTable& kernels, ElementType type, std::size_t count,
           std::uint64_t divisor, std::size_t ranks, std::size_t head_bytes, bool checksum);

  /// From now on calls sum so many elements, of max_bytes at most. @throws std::bad_alloc, with
  /// nothing changed
  void become(std::size_t count);

  /// A call begins. The buffers outlive it; they may be the same.
  void begin(const void* input, void* output);
  /// Adds the elements of other ranks, which stand behind those of this sum or before them. In the
  /// `last` hop the output gets the result.
  void add(const std::byte* arrived, bool own_first, bool last);
  /// Adds the elements of all ranks, which lie at `vectors` by rank; those of this rank are here,
  /// whatever stands there. In the order of recursive doubling (doubling_hops.hpp), as add() does
  /// on all ranks together; the output gets the result. Of at most `max_vectors`; the pointers are
  /// overwritten.
  void add_all(std::span<const std::byte*> vectors, std::size_t own);
  /// All ranks' elements, which take the place of this rank's, and go to the output.
  void take(const std::byte* arrived);
  /// The output gets the result, which was added before.
  void write_output();

  /// Room for the head, and the elements.
  [[nodiscard]] std::span<std::byte> message() {
    return {reinterpret_cast<std::byte*>(message_.get()), head_bytes_ + bytes()};
  }
  [[nodiscard]] std::size_t bytes() const { return count_ * size_of(type_); }
  [[nodiscard]] bool checksum() const { return checksum_; }
  /// Whether no other way is faster for so many bytes. By messages the whole vector travels log2 n
  /// times: then MPI's own reduction may be.
  [[nodiscard]] static constexpr bool pays(std::size_t bytes, bool by_board) {
    return by_board || bytes <= std::size_t{4} << 10;
  }

 private:
  [[nodiscard]] std::byte* elements() { return message().data() + head_bytes_; }
  void take_memory(std::size_t bytes);
  void finish(const std::byte* sum);
  void add(const std::byte* lower, const std::byte* upper, void* sum);

  const kernels::KernelTable& kernels_;
  ElementType type_;
  std::size_t count_;
  std::uint64_t divisor_;
  std::size_t head_bytes_;
  std::size_t partials_;  ///< vectors at partial_
  std::size_t room_ = 0;  ///< bytes of the longest vector
  bool checksum_;
  // Written before they are read.
  std::unique_ptr<std::uint64_t[]> message_;
  std::unique_ptr<std::uint64_t[]> partial_;  ///< sums of add_all(): one for two ranks
  void* output_ = nullptr;
};

}  // namespace cohom
