#include "scale/message_trace.hpp"

#include "output_file.hpp"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>
#include <system_error>

namespace cohom::bench {
namespace {

constexpr int bytes_as_elements = 6;  // SMPI's number of MPI_BYTE

std::string file_name(int rank) { return fmt::format("rank{}.trace", rank); }

}  // namespace

MessageTrace::MessageTrace(int ranks) : lines_(static_cast<std::size_t>(ranks)) {}

/// Sender and receiver come to a message at any time, either of them first.
std::uint64_t MessageTrace::number_of(const Message& message) {
  return numbers_.emplace(message, numbers_.size()).first->second;
}

void MessageTrace::send(int rank, int peer, std::uint64_t label, std::size_t bytes) {
  const Sequence sequence(rank, peer, label);
  fmt::format_to(std::back_inserter(lines_[static_cast<std::size_t>(rank)]),
                 "{} isend {} {} {} {}\n", rank, peer, number_of({sequence, sends_[sequence]++}),
                 bytes, bytes_as_elements);
}

std::uint64_t MessageTrace::receive(int rank, int peer, std::uint64_t label, std::size_t bytes) {
  const Sequence sequence(peer, rank, label);
  const std::uint64_t number = number_of({sequence, receives_[sequence]++});
  fmt::format_to(std::back_inserter(lines_[static_cast<std::size_t>(rank)]),
                 "{} irecv {} {} {} {}\n", rank, peer, number, bytes, bytes_as_elements);
  return number;
}

void MessageTrace::received(int rank, int peer, std::uint64_t number) {
  fmt::format_to(std::back_inserter(lines_[static_cast<std::size_t>(rank)]), "{} wait {} {} {}\n",
                 rank, peer, rank, number);
}

std::string MessageTrace::text(int rank) const {
  return fmt::format("{0} init\n{1}{0} finalize\n", rank, lines_[static_cast<std::size_t>(rank)]);
}

void MessageTrace::write(std::string_view flag, const std::filesystem::path& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw std::runtime_error(
        fmt::format("{} {}: cannot be made: {}", flag, folder.string(), error.message()));
  std::string list;
  for (int rank = 0; rank < static_cast<int>(lines_.size()); ++rank) {
    const std::string path = folder / file_name(rank);
    OutputFile(flag, path).write(text(rank));
    list += path + "\n";
  }
  OutputFile(flag, folder / "traces").write(list);
}

}  // namespace cohom::bench
