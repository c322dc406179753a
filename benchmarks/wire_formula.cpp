#include "wire_formula.hpp"

#include "codec_bytes.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace cohom::bench {
namespace {

/// Elements of each rank's chunk: whole blocks, as equal as they can be, longer ones first.
std::vector<std::size_t> chunk_elements(std::size_t elements, std::size_t block,
                                        std::size_t ranks) {
  const std::size_t blocks = (elements + block - 1) / block;
  std::vector<std::size_t> chunks;
  for (std::size_t c = 0, left = elements; c < ranks; ++c) {
    const std::size_t size = (blocks / ranks + (c < blocks % ranks)) * block;
    chunks.push_back(std::min(size, left));
    left -= chunks.back();
  }
  return chunks;
}

using PerRank = std::vector<std::uint64_t>;

/// Every rank sends all chunks but its own once, and all but the next rank's as finished sums.
PerRank ring(const CodecBytes& codec, const std::vector<std::size_t>& chunks) {
  std::uint64_t all = 0;
  for (const std::size_t chunk : chunks) all += codec.sum(chunk) + codec.result(chunk);
  PerRank sent;
  for (std::size_t rank = 0; rank < chunks.size(); ++rank)
    sent.push_back(all - codec.sum(chunks[rank]) -
                   codec.result(chunks[(rank + 1) % chunks.size()]));
  return sent;
}

/// Every rank sends its contribution to each other chunk, and its own chunk's sum to everyone.
PerRank direct(const CodecBytes& codec, const std::vector<std::size_t>& chunks) {
  if (codec.disjoint) {
    std::size_t elements = 0;
    for (const std::size_t chunk : chunks) elements += chunk;
    return PerRank(chunks.size(), (chunks.size() - 1) * codec.contribution(elements));
  }
  std::uint64_t all = 0;
  for (const std::size_t chunk : chunks) all += codec.contribution(chunk);
  PerRank sent;
  for (const std::size_t chunk : chunks)
    sent.push_back(all - codec.contribution(chunk) + (chunks.size() - 1) * codec.result(chunk));
  return sent;
}

/// Messages of whole vectors: to the parent, and to the children on the way down.
PerRank tree_messages(std::size_t ranks) {
  PerRank sent(ranks, 1);
  sent[0] = 0;
  for (std::size_t child = 1; child < ranks; ++child) ++sent[child & (child - 1)];
  return sent;
}

/// Messages of whole vectors: one a round among a power of two of ranks; the ranks beyond hand
/// their contribution to a neighbour and get the result back.
PerRank doubling_messages(std::size_t ranks) {
  const std::size_t members = std::bit_floor(ranks);
  const std::size_t pairs = ranks - members;
  const auto rounds = static_cast<std::uint64_t>(std::countr_zero(members));
  PerRank sent(ranks, rounds);
  for (std::size_t rank = 0; rank < 2 * pairs; ++rank) sent[rank] = rank % 2 == 0 ? rounds + 1 : 1;
  return sent;
}

PerRank times(PerRank messages, std::uint64_t bytes) {
  for (auto& count : messages) count *= bytes;
  return messages;
}

}  // namespace

std::optional<WireBytes> wire_formula(const std::string& codec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, int ranks,
                                      const std::optional<UnionShape>& shape) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto of_codec = codec_bytes(codec, algorithm, elements, type, n, shape);
  if (!of_codec) return std::nullopt;
  const CodecBytes& bytes = *of_codec;

  const auto chunks = chunk_elements(elements, bytes.block, n);
  PerRank sent;
  if (algorithm == "ring")
    sent = ring(bytes, chunks);
  else if (algorithm == "direct")
    sent = direct(bytes, chunks);
  else if (algorithm == "tree" && !bytes.finished)
    sent = times(tree_messages(n), bytes.sum(elements));
  else if (algorithm == "recursive_doubling" && !bytes.finished)
    sent = times(doubling_messages(n), bytes.sum(elements));
  else
    return std::nullopt;  // where sums are finished into fewer words, ways up and down differ

  // Small rounds go by recursive doubling, whatever the payload takes.
  const PerRank agreement = times(doubling_messages(n), bytes.agreement);
  WireBytes total;
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::uint64_t here = sent[rank] + agreement[rank];
    total.busiest_rank = std::max(total.busiest_rank, here);
    total.all_ranks += here;
  }
  return total;
}

}  // namespace cohom::bench
