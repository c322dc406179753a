#pragma once
// NodeBoard: the CallBoard of ranks that are one node, in their windows.

#include "agreement/call_board.hpp"
#include "node_window/node_window.hpp"
#include "node_window/window_layout.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohom {

class NodeBoard final : public CallBoard {
 public:
  struct Peer {
    int rank = 0;
    const Board* board = nullptr;
    const bool* has_ended = nullptr;  ///< its process
    std::uint64_t ended = 0;          ///< calls below it, as it last said
  };

  /// What it tells the transport.
  struct Reports {
    bool& ended_early;  ///< a call did
    WireCounters& counters;
  };

  /// All that it refers to outlives it. `most_calls`: that are open at once.
  NodeBoard(NodeWindow& window, std::vector<Peer> peers, std::size_t most_calls, Reports reports);
  NodeBoard(const NodeBoard&) = delete;
  NodeBoard& operator=(const NodeBoard&) = delete;
  ~NodeBoard() override = default;

  void begin(std::uint64_t number) override;
  bool post(std::uint64_t number, std::span<const std::byte> words,
            std::span<const std::byte> vector) override;
  void leave(std::uint64_t number, std::span<const std::byte> words) noexcept override;
  [[nodiscard]] bool has_posted(std::uint64_t number) const override;
  [[nodiscard]] std::optional<std::span<const std::byte>> words_of(std::uint64_t number,
                                                                   int rank) override;
  void end(std::uint64_t number, bool early) noexcept override;

 private:
  struct Open {
    std::uint64_t number = 0;
    bool posted = false;
  };

  /// Null: it has not begun, or has ended.
  [[nodiscard]] Open* open(std::uint64_t number);
  [[nodiscard]] bool has_room(std::uint64_t number, std::size_t bytes);
  void write(Open& call, std::span<const std::byte> words, std::span<const std::byte> vector);
  void tell_that_it_left(std::uint64_t number);

  Board& own_;
  std::vector<Peer> peers_;
  std::size_t most_bytes_;  ///< of a post
  std::vector<std::size_t> peer_of_rank_;
  Reports reports_;
  std::vector<Open> open_;  ///< calls that have begun and not ended, in their order
  std::uint64_t next_ = 0;  ///< behind the last that has begun
};

}  // namespace cohom
