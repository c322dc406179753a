#pragma once
// ShortSum: a vector so short that it travels with the words by which ranks agree on a call, and is
// added on the way: such a call has no other messages. Its first part travels in the message of the
// words, each other one in a message right behind: no message is so long that the transport would
// ask its receiver first.
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
  /// Of a vector, in the message of the words. Who receives them has room for so many bytes,
  /// whether its own call is short or not.
  static constexpr std::size_t first_bytes = std::size_t{16} << 10;
  /// In each other message. Open MPI sends up to 64 KiB over TCP before the receiver answers.
  static constexpr std::size_t part_bytes = std::size_t{48} << 10;
  /// No vector of more bytes travels so.
  static constexpr std::size_t max_bytes = std::size_t{256} << 10;

  static constexpr std::size_t max_vectors = 8;  ///< of add_all()
  /// In each of log2 n hops all of the vector travels.
  static constexpr int few_ranks = 4;

  /// `divisor`: of the sum. `head_bytes`: room for what stands before the elements. `checksum`: of
  /// all bytes, not of the head alone: then there is one part. Memory for more is taken later.
  /// @throws std::bad_alloc
  ShortSum(const kernels::KernelTable& kernels, ElementType type, std::size_t count,
           std::uint64_t divisor, std::size_t ranks, std::size_t head_bytes, bool checksum);

  /// From now on calls sum so many elements, of one part at most. @throws std::bad_alloc, with
  /// nothing changed
  void become(std::size_t count);

  /// The longest vector that travels so, in bytes.
  [[nodiscard]] static constexpr std::size_t longest(int ranks, bool has_board, bool checksum) {
    return has_board || checksum || ranks > few_ranks ? first_bytes : max_bytes;
  }
  [[nodiscard]] bool has_memory() const { return room_ >= bytes(); }
  /// What calls need. Does nothing the second time. @throws std::bad_alloc, with nothing changed
  void take_memory();
  /// Of a vector of several parts: bytes of that memory.
  [[nodiscard]] std::size_t workspace_bytes() const {
    return room_ > first_bytes ? 2 * room_ - first_bytes : 0;
  }
  /// A call begins, and there is memory. The buffers outlive it; they may be the same.
  void begin(const void* input, void* output);
  /// Adds the elements of other ranks, which stand behind those of this sum or before them: the
  /// first part, that has `arrived`, and what room_for() has of the others. In the `last` hop the
  /// output gets the result.
  void add(const std::byte* arrived, bool own_first, bool last);
  /// Adds the elements of all ranks, which lie at `vectors` by rank; those of this rank are here,
  /// whatever stands there. In the order of recursive doubling (doubling_hops.hpp), as add() does
  /// on all ranks together; the output gets the result. Of at most `max_vectors`; the pointers are
  /// overwritten.
  void add_all(std::span<const std::byte*> vectors, std::size_t own);
  /// All ranks' elements, which take the place of this rank's, and go to the output; as add().
  void take(const std::byte* arrived);
  /// The output gets the result, which was added before.
  void write_output();

  /// Room for the head, and the first part.
  [[nodiscard]] std::span<std::byte> message() {
    return {reinterpret_cast<std::byte*>(message_.get()), head_bytes_ + bytes_of_part(bytes(), 0)};
  }
  /// Another one: from 1 to parts_of() - 1.
  [[nodiscard]] std::span<const std::byte> part(std::size_t number) {
    return {elements() + begin_of_part(number), bytes_of_part(bytes(), number)};
  }
  /// For that part of another rank's vector.
  [[nodiscard]] std::span<std::byte> room_for(std::size_t number) {
    return {other_parts() + begin_of_part(number) - first_bytes, bytes_of_part(bytes(), number)};
  }
  [[nodiscard]] std::size_t bytes() const { return count_ * size_of(type_); }
  /// Of a vector of so many bytes.
  [[nodiscard]] static constexpr std::size_t parts_of(std::size_t bytes) {
    return bytes <= first_bytes ? 1 : 1 + (bytes - first_bytes + part_bytes - 1) / part_bytes;
  }
  /// The place of a part in a vector.
  [[nodiscard]] static constexpr std::size_t begin_of_part(std::size_t number) {
    return number == 0 ? 0 : first_bytes + (number - 1) * part_bytes;
  }
  [[nodiscard]] static constexpr std::size_t bytes_of_part(std::size_t bytes, std::size_t number) {
    const std::size_t behind = bytes - begin_of_part(number);
    const std::size_t most = number == 0 ? first_bytes : part_bytes;
    return behind < most ? behind : most;
  }
  [[nodiscard]] bool checksum() const { return checksum_; }
  /// Whether no other way is faster for so many bytes. By messages the whole vector travels log2 n
  /// times: then MPI's own reduction may be.
  [[nodiscard]] static constexpr bool pays(std::size_t bytes, bool by_board) {
    return by_board || bytes <= std::size_t{4} << 10;
  }

 private:
  /// Of the vector, in bytes.
  struct Range {
    std::size_t begin, bytes;
  };
  [[nodiscard]] Range first() const { return {0, bytes_of_part(bytes(), 0)}; }
  [[nodiscard]] Range others() const { return {first().bytes, bytes() - first().bytes}; }
  [[nodiscard]] Range all() const { return {0, bytes()}; }

  [[nodiscard]] std::byte* elements() { return message().data() + head_bytes_; }
  [[nodiscard]] std::byte* other_parts() {
    return reinterpret_cast<std::byte*>(other_parts_.get());
  }
  void take_room(std::size_t bytes);
  void add_range(Range range, const std::byte* arrived, bool own_first, bool last);
  void finish(Range range, const std::byte* sum);
  void merge(const std::byte* lower, const std::byte* upper, std::size_t bytes, void* sum);

  const kernels::KernelTable& kernels_;
  ElementType type_;
  std::size_t count_;
  std::uint64_t divisor_;
  std::size_t head_bytes_;
  std::size_t partials_;  ///< vectors at partial_, where there is one part
  std::size_t room_ = 0;  ///< bytes of the longest vector
  bool checksum_;
  // Written before they are read.
  std::unique_ptr<std::uint64_t[]> message_;
  std::unique_ptr<std::uint64_t[]> other_parts_;  ///< that arrived
  std::unique_ptr<std::uint64_t[]> partial_;      ///< sums of add_all(): one for two ranks
  void* output_ = nullptr;
};

}  // namespace cohom
