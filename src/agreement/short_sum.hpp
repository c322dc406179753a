#pragma once
// ShortSum: a vector so short that it travels with the words by which ranks agree on a call, and is
// added on the way: such a call has no other messages. What is longer than `first_bytes` travels in
// a message of its own right behind the words.
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
  /// Longer vectors wait for the agreement.
  static constexpr std::size_t max_bytes = std::size_t{256} << 10;
  /// Of a vector, in the message of the words. Who receives has room for them, whether its own call
  /// is short or not.
  static constexpr std::size_t first_bytes = std::size_t{16} << 10;

  static constexpr std::size_t max_vectors = 8;  ///< of add_all()
  /// In each of log2 n hops all of the vector travels.
  static constexpr int few_ranks = 4;

  /// `divisor`: of the sum. `head_bytes`: room for what stands before the elements. `checksum`: of
  /// all bytes, not of the head alone: then no vector is longer than first_bytes. Memory for more
  /// is taken later. @throws std::bad_alloc
  ShortSum(const kernels::KernelTable& kernels, ElementType type, std::size_t count,
           std::uint64_t divisor, std::size_t ranks, std::size_t head_bytes, bool checksum);

  /// From now on calls sum so many elements, of first_bytes at most. @throws std::bad_alloc, with
  /// nothing changed
  void become(std::size_t count);

  /// The longest vector that travels so.
  [[nodiscard]] static constexpr std::size_t longest(int ranks, bool has_board, bool checksum) {
    return has_board || checksum || ranks > few_ranks ? first_bytes : max_bytes;
  }
  [[nodiscard]] bool has_memory() const { return room_ >= bytes(); }
  /// What calls need. Does nothing the second time. @throws std::bad_alloc, with nothing changed
  void take_memory();
  /// That of a vector longer than first_bytes.
  [[nodiscard]] std::size_t workspace_bytes() const {
    return room_ > first_bytes ? room_ + rest_of(room_) : 0;
  }
  /// A call begins, and there is memory. The buffers outlive it; they may be the same.
  void begin(const void* input, void* output);
  /// Adds the elements of other ranks, which stand behind those of this sum or before them: what
  /// `arrived` with the words, and what room_for_rest() has. In the `last` hop the output gets the
  /// result.
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

  /// Room for the head, and the elements that travel with it.
  [[nodiscard]] std::span<std::byte> message() {
    return {reinterpret_cast<std::byte*>(message_.get()), head_bytes_ + first_of(bytes())};
  }
  /// The elements that travel behind that message.
  [[nodiscard]] std::span<const std::byte> rest() {
    return {elements() + first_of(bytes()), rest_of(bytes())};
  }
  /// For those of another rank.
  [[nodiscard]] std::span<std::byte> room_for_rest() {
    return {reinterpret_cast<std::byte*>(arrived_rest_.get()), rest_of(bytes())};
  }
  [[nodiscard]] std::size_t bytes() const { return count_ * size_of(type_); }
  /// How many of so many bytes travel with the words, and how many behind them.
  [[nodiscard]] static constexpr std::size_t first_of(std::size_t bytes) {
    return bytes < first_bytes ? bytes : first_bytes;
  }
  [[nodiscard]] static constexpr std::size_t rest_of(std::size_t bytes) {
    return bytes - first_of(bytes);
  }
  [[nodiscard]] bool checksum() const { return checksum_; }
  /// Whether no other way is faster for so many bytes. By messages the whole vector travels log2 n
  /// times: then MPI's own reduction may be.
  [[nodiscard]] static constexpr bool pays(std::size_t bytes, bool by_board) {
    return by_board || bytes <= std::size_t{4} << 10;
  }

 private:
  /// A part of the vector, in bytes.
  struct Part {
    std::size_t begin, bytes;
  };
  [[nodiscard]] Part first() const { return {0, first_of(bytes())}; }
  [[nodiscard]] Part second() const { return {first_of(bytes()), rest_of(bytes())}; }

  [[nodiscard]] std::byte* elements() { return message().data() + head_bytes_; }
  void take_room(std::size_t bytes);
  void add(Part part, const std::byte* arrived, bool own_first, bool last);
  void finish(Part part, const std::byte* sum);
  void add(const std::byte* lower, const std::byte* upper, std::size_t bytes, void* sum);

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
  std::unique_ptr<std::uint64_t[]> arrived_rest_;
  std::unique_ptr<std::uint64_t[]> partial_;  ///< sums of add_all(): one for two ranks
  void* output_ = nullptr;
};

}  // namespace cohom
