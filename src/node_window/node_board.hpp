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

  /// All that it refers to outlives it.
  NodeBoard(NodeWindow& window, std::vector<Peer> peers, Reports reports);

  bool post(std::uint64_t number, std::span<const std::byte> words) override;
  [[nodiscard]] bool has_posted(std::uint64_t number) const override;
  [[nodiscard]] std::optional<std::span<const std::byte>> words_of(std::uint64_t number,
                                                                   int rank) override;
  void end(std::uint64_t number, bool early) noexcept override;

 private:
  [[nodiscard]] bool has_room(std::uint64_t number);

  NodeWindow& window_;
  Board& own_;
  std::vector<Peer> peers_;
  std::vector<std::size_t> peer_of_rank_;
  Reports reports_;
  std::vector<std::uint64_t> open_;  ///< calls that were posted and have not ended, in order
  std::uint64_t next_ = 0;           ///< behind the last that was posted
  std::uint64_t touched_ = 0;        ///< slots whose long words have memory: a bit each
};

}  // namespace cohom
