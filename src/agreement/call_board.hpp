#pragma once
// CallBoard: where the ranks of a node put the words by which they agree on a call, for all others
// to read.
//
// A post takes no message: it stays where its rank has put it until all ranks are done with the
// call. So n ranks agree in one step, where messages take log2(n).

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cohom {

class CallBoard {
 public:
  /// A rank reads those of all others: of many ranks that may take longer than messages.
  static constexpr int max_ranks = 8;
  /// Bytes of a post, on a board of at most so many ranks, and on others.
  static constexpr int max_long_ranks = 4;
  static constexpr std::size_t max_long_bytes = (std::size_t{256} << 10) + 64;
  static constexpr std::size_t max_bytes = (std::size_t{16} << 10) + 64;
  /// Calls whose posts may stand there at once, those with more than a hundred bytes or so, and
  /// those with more than max_bytes.
  static constexpr std::uint64_t calls = 64, long_calls = 16, longest_calls = 2;

  virtual ~CallBoard() = default;

  /// A call of this rank begins. Calls are numbered alike on all ranks, and begin in the order of
  /// their numbers; one that has begun goes on.
  virtual void begin(std::uint64_t number) = 0;
  /// Puts this rank's words of a call there, which has begun, and right behind them its vector,
  /// which may be empty. What was posted before stays as it is. @returns whether they are there:
  /// not while other ranks may still read what they would replace. @throws Error(transport) where
  /// another rank's process has ended
  virtual bool post(std::uint64_t number, std::span<const std::byte> words,
                    std::span<const std::byte> vector) = 0;
  /// In place of both, on a rank that left an earlier call and takes no other part in this one and
  /// those behind it: the words, or where there is no room for them, that it has left.
  virtual void leave(std::uint64_t number, std::span<const std::byte> words) noexcept = 0;
  [[nodiscard]] virtual bool has_posted(std::uint64_t number) const = 0;
  /// Another rank's words, aligned to eight bytes, of a call that this rank is not done with; none:
  /// they are not there yet. They lie in that rank's memory: what is read twice may differ.
  /// @throws Error(transport) where they cannot be, or the rank has left or ended without them
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> words_of(std::uint64_t number,
                                                                           int rank) = 0;
  /// This rank is done with the call, and reads its posts no more. `early`: not all ranks' were
  /// read.
  virtual void end(std::uint64_t number, bool early) noexcept = 0;
};

}  // namespace cohom
