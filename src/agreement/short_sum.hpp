#pragma once
// ShortSum: a vector so short that it travels with the words by which ranks agree on a call, and is
// added on the way: such a call needs nothing else. It travels in sections, the first one in the
// message of the words, each other one in a message right behind. A section is so short that many
// transports send it before its receiver asks for it. On a board it is whole.
//
// Partial sums stay here. The user's output is written when the last hop has said that all ranks
// make the same call.

#include "kernels/table/kernel_table.hpp"

#include <cohom/element_type.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohom {

class ShortSum {
 public:
  /// Of a vector, in one message. Whoever receives words has memory for a section behind them,
  /// whether its own call is short or not. Open MPI sends up to 64 KiB over TCP unasked.
  static constexpr std::size_t section_bytes = std::size_t{48} << 10;
  /// The longest vector that travels so.
  static constexpr std::size_t max_bytes = std::size_t{256} << 10;
  /// The same by messages with checksums, or of more ranks than max_ranks.
  static constexpr std::size_t short_bytes = std::size_t{16} << 10;
  /// With which more than short_bytes may travel: each rank gets log2 n whole vectors, or on a
  /// board those of all others.
  static constexpr int max_ranks = 4;

  static constexpr std::size_t max_vectors = 8;  ///< of add_all()

  /// How it travels.
  struct Way {
    std::size_t ranks = 1;
    bool on_board = false;
    bool checksum = false;       ///< of all bytes, not of the head alone
    std::size_t head_bytes = 0;  ///< room for what stands before the elements of a message
  };
  /// `divisor`: of the sum. Memory for more than short_bytes is taken later.
  /// @throws std::bad_alloc
  ShortSum(const kernels::KernelTable& kernels, ElementType type, std::size_t count,
           std::uint64_t divisor, const Way& way);

  /// From now on calls sum so many elements, of short_bytes at most. @throws std::bad_alloc, with
  /// nothing changed
  void become(std::size_t count);

  /// The longest vector that travels so, in bytes.
  [[nodiscard]] static constexpr std::size_t longest(int ranks, bool has_board, bool checksum) {
    return ranks <= max_ranks && (has_board || !checksum) ? max_bytes : short_bytes;
  }
  [[nodiscard]] bool has_memory() const { return capacity_ >= bytes(); }
  /// What calls need. Does nothing the second time. @throws std::bad_alloc, with nothing changed
  void take_memory();
  /// Of that memory, what counts as a workspace: all of more than short_bytes.
  [[nodiscard]] std::size_t workspace_bytes() const;
  /// A call begins, and there is memory. The buffers outlive it; they may be the same. On a board
  /// the input is read until the sum is made, and stays as it is until then.
  void begin(const void* input, void* output);
  /// Adds the elements of other ranks, which stand behind those of this sum or before them: the
  /// first section, which is in `arrived`, and the others, which are in incoming(). In the `last`
  /// hop the output gets the result.
  void add(const std::byte* arrived, bool own_first, bool last);
  /// On a board: adds the elements of all ranks, which lie at `vectors` by rank; those of this rank
  /// are in the input. In the order of recursive doubling (doubling_hops.hpp), as add() does
  /// on all ranks together; the output gets the result. Of at most `max_vectors`; the pointers are
  /// overwritten.
  void add_all(std::span<const std::byte*> vectors, std::size_t own);
  /// All ranks' elements, which take the place of this rank's, and go to the output; as add().
  void take(const std::byte* arrived);
  /// The output gets the result, which was added before.
  void write_output();

  /// This rank's vector.
  [[nodiscard]] std::span<const std::byte> input() const {
    return {static_cast<const std::byte*>(input_), bytes()};
  }
  /// Of what does not go by a board: memory of the head, and the first section.
  [[nodiscard]] std::span<std::byte> message() {
    return {reinterpret_cast<std::byte*>(message_.get()), way_.head_bytes + first().bytes};
  }
  /// Another section: `number` is from 1 to sections_of() - 1.
  [[nodiscard]] std::span<const std::byte> section(std::size_t number) {
    return {elements() + number * section_bytes, bytes_of_section(bytes(), number)};
  }
  /// Memory for that section of another rank's vector.
  [[nodiscard]] std::span<std::byte> incoming(std::size_t number) {
    return {behind_first() + (number - 1) * section_bytes, bytes_of_section(bytes(), number)};
  }
  [[nodiscard]] std::size_t bytes() const { return count_ * size_of(type_); }
  /// Of a vector of so many bytes; at least one.
  [[nodiscard]] static constexpr std::size_t sections_of(std::size_t bytes) {
    return bytes <= section_bytes ? 1 : (bytes + section_bytes - 1) / section_bytes;
  }
  [[nodiscard]] static constexpr std::size_t bytes_of_section(std::size_t bytes,
                                                              std::size_t number) {
    return std::min(bytes - number * section_bytes, section_bytes);
  }
  [[nodiscard]] bool checksum() const { return way_.checksum; }
  /// Whether no other way is faster for so many bytes; else MPI's own reduction may be.
  [[nodiscard]] static constexpr bool pays(std::size_t bytes, bool by_board) {
    return bytes <= (by_board ? std::size_t{64} : std::size_t{4}) << 10;
  }

 private:
  /// Of the vector, in bytes.
  struct Range {
    std::size_t begin, bytes;
  };
  static constexpr std::size_t behind_first(std::size_t bytes) {
    return bytes - bytes_of_section(bytes, 0);
  }
  [[nodiscard]] Range first() const { return {0, bytes_of_section(bytes(), 0)}; }
  [[nodiscard]] Range others() const { return {first().bytes, behind_first(bytes())}; }
  [[nodiscard]] Range all() const { return {0, bytes()}; }

  [[nodiscard]] std::byte* elements() { return message().data() + way_.head_bytes; }
  [[nodiscard]] std::byte* behind_first() { return reinterpret_cast<std::byte*>(incoming_.get()); }
  void reserve(std::size_t bytes);
  void add_range(Range range, const std::byte* arrived, bool own_first, bool last);
  void finish(Range range, const std::byte* sum);
  void merge(const std::byte* lower, const std::byte* upper, std::size_t bytes, void* sum);

  const kernels::KernelTable& kernels_;
  ElementType type_;
  std::size_t count_;
  std::uint64_t divisor_;
  Way way_;
  std::size_t partials_ = 0;  ///< vectors at partial_
  std::size_t capacity_ = 0;  ///< bytes of the longest vector
  // Written before they are read.
  std::unique_ptr<std::uint64_t[]> message_;
  std::unique_ptr<std::uint64_t[]> incoming_;  ///< sections of another rank behind its first one
  std::unique_ptr<std::uint64_t[]> partial_;   ///< sums of add_all()
  const void* input_ = nullptr;
  void* output_ = nullptr;
};

}  // namespace cohom
