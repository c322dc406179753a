#pragma once
// MessageTrace: the messages of each rank in the order in which it handled them, as traces that
// SimGrid's SMPI replays (docs/scale.md).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cohom::bench {

class MessageTrace {
 public:
  explicit MessageTrace(int ranks);

  /// `label` tells the messages between two ranks apart, but for those that follow one another.
  void send(int rank, int peer, std::uint64_t label, std::size_t bytes);
  /// A receive that `rank` posts.
  /// @returns the message's number, which no other message of the trace has
  std::uint64_t receive(int rank, int peer, std::uint64_t label, std::size_t bytes);
  /// `rank` has taken the message in, before all that it does from now on.
  void received(int rank, int peer, std::uint64_t number);

  /// Text of SMPI's time-independent trace of a rank.
  [[nodiscard]] std::string text(int rank) const;
  /// Makes `folder` with one file a rank, and the file `traces`, which lists them.
  /// @throws std::runtime_error naming `flag`, the path and why it cannot be written
  void write(std::string_view flag, const std::filesystem::path& folder) const;

 private:
  /// Sender, receiver, label.
  using Sequence = std::tuple<int, int, std::uint64_t>;
  using Message = std::pair<Sequence, std::uint64_t>;

  std::uint64_t number_of(const Message& message);

  std::vector<std::string> lines_;  ///< by rank
  std::map<Sequence, std::uint64_t> sends_, receives_;
  std::map<Message, std::uint64_t> numbers_;
};

}  // namespace cohom::bench
