#include "wire_formula.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

namespace cohom::bench {
namespace {

/// Bytes of a run of elements that starts at a block's begin.
using RunBytes = std::function<std::uint64_t(std::size_t elements)>;

struct CodecBytes {
  std::size_t block = 1;
  RunBytes contribution;  ///< as `direct` sends it
  RunBytes sum;           ///< as partial sums travel, and finished ones if `finished` is empty
  std::uint64_t agreement = 0;
  RunBytes finished = {};
  bool disjoint = false;  ///< `direct` sends every rank's contribution to all others, and no sums

  [[nodiscard]] std::uint64_t result(std::size_t elements) const {
    return finished ? finished(elements) : sum(elements);
  }
};

/// The value of `name` in a spec "codec:name=value,...", or nothing.
std::optional<std::string> parameter(const std::string& spec, std::string_view name) {
  for (std::size_t begin = spec.find(':'); begin != std::string::npos;) {
    const std::size_t end = spec.find(',', begin + 1);
    const std::string_view item = std::string_view(spec).substr(begin + 1, end - begin - 1);
    if (item.starts_with(name) && item.substr(name.size()).starts_with('='))
      return std::string(item.substr(name.size() + 1));
    begin = end;
  }
  return std::nullopt;
}

std::uint64_t number(const std::string& spec, std::string_view name, std::uint64_t otherwise) {
  const auto text = parameter(spec, name);
  std::uint64_t value = otherwise;
  if (text && *text != "auto") std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

unsigned first_width_that_holds(std::uint64_t value, std::initializer_list<unsigned> widths) {
  for (const unsigned width : widths)
    if (value <= std::numeric_limits<std::uint64_t>::max() >> (64 - width)) return width;
  return 64;
}

/// Lanes of `width` bits, floor(64/width) a word, whole words a block; the ragged last block is
/// padded to a power of two of at least 16.
RunBytes lanes(std::size_t block, unsigned width) {
  return [=](std::size_t elements) {
    const std::size_t lanes_a_word = 64 / width;
    const auto words = [&](std::size_t values) {
      return (values + lanes_a_word - 1) / lanes_a_word;
    };
    const std::size_t ragged = elements % block;
    const std::size_t padded = ragged == 0 ? 0 : std::max<std::size_t>(16, std::bit_ceil(ragged));
    return 8 * (elements / block * words(block) + words(std::min(padded, block)));
  };
}

CodecBytes raw_bytes(ElementType type) {
  const RunBytes bytes = [type](std::size_t elements) {
    return (elements * size_of(type) + 7) / 8 * 8;
  };
  return {.block = 256, .contribution = bytes, .sum = bytes};
}

/// Empty where the lanes that the spec asks for hold no sum of so many ranks.
std::optional<CodecBytes> thc_bytes(const std::string& spec, std::size_t elements,
                                    std::uint64_t ranks) {
  const std::size_t block = number(spec, "rotation", 256);
  unsigned contribution_width, sum_width;
  if (parameter(spec, "levels") == "full") {
    sum_width = static_cast<unsigned>(number(spec, "lane", 8));
    const std::uint64_t levels = (std::uint64_t{1} << sum_width) - 1;
    if (levels < ranks) return std::nullopt;
    contribution_width = first_width_that_holds(std::min<std::uint64_t>(levels / ranks, 65535),
                                                {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16});
  } else {
    contribution_width = static_cast<unsigned>(number(spec, "bits", 4));
    const std::uint64_t table = (std::uint64_t{1} << contribution_width) - 1;
    const auto granularity = number(spec, "granularity", contribution_width == 1 ? 1 : 2 * table);
    sum_width = static_cast<unsigned>(
        number(spec, "lane", first_width_that_holds(ranks * granularity, {8, 12, 16, 21, 32})));
    if (ranks * granularity >> sum_width != 0) return std::nullopt;
  }
  const std::size_t blocks = (elements + block - 1) / block;
  // One code of 32 bits a block, two a word; scale=global agrees on one for the vector.
  const bool global = parameter(spec, "scale") == "global";
  return CodecBytes{.block = block,
                    .contribution = lanes(block, std::min(contribution_width, sum_width)),
                    .sum = lanes(block, sum_width),
                    .agreement = global ? 8 : (blocks + 1) / 2 * 8};
}

/// What packed may send with a budget, for contributions and sums together, agreement included. How it
/// splits them depends on the vectors, so only `direct` has a formula.
std::optional<CodecBytes> packed_bytes(const std::string& spec, const std::string& algorithm) {
  const bool mean = parameter(spec, "budget").value_or("mean") == "mean";
  if (algorithm != "direct" || !mean || parameter(spec, "abs_error") ||
      parameter(spec, "rel_error"))
    return std::nullopt;
  const double bits = std::stod(parameter(spec, "bits").value_or("5"));
  const RunBytes bytes = [bits](std::size_t elements) {
    return static_cast<std::uint64_t>(bits / 8 * static_cast<double>(elements));
  };
  return CodecBytes{.block = 1024, .contribution = bytes, .sum = bytes};
}

/// Index and `value_bytes` for each element of the union; of a two-level index the upper level, two bits a
/// block of 512, is small and goes as agreement does.
CodecBytes union_bytes(const std::string& spec, double value_bytes, const UnionShape& shape) {
  const bool flat = parameter(spec, "index") == "flat";
  const auto elements = static_cast<double>(shape.elements);
  const double values =
      static_cast<double>(shape.values + (flat ? 0 : shape.zeros_of_full)) / elements;
  const double named = flat ? 1 : static_cast<double>(shape.mixed) / elements;
  const double bytes = values * value_bytes + named / 8;
  const RunBytes run = [bytes](std::size_t count) {
    return static_cast<std::uint64_t>(std::llround(bytes * static_cast<double>(count)));
  };
  const std::size_t blocks = (shape.elements + 511) / 512;
  return {.block = 256,
          .contribution = run,
          .sum = run,
          .agreement = flat ? 0 : (blocks + 31) / 32 * 8};
}

CodecBytes sparse_bytes(const std::string& spec, ElementType type, const UnionShape& shape) {
  return union_bytes(spec, static_cast<double>(size_of(type)), shape);
}

/// The maximum of integer cells, and a bit for each block of 256, are agreed on as well.
CodecBytes sketch_bytes(const std::string& spec, ElementType type, const UnionShape& shape) {
  const bool wide = type == ElementType::f64;
  const bool integers = !wide && parameter(spec, "cells").value_or("i64") == "i64";
  const double gamma = std::stod(parameter(spec, "gamma").value_or("1.3"));
  CodecBytes bytes = union_bytes(spec, gamma * (integers || wide ? 8 : 4), shape);
  bytes.agreement += (shape.elements / 256 + 63) / 64 * 8 + (integers ? 8 : 0);
  return bytes;
}

constexpr std::size_t sign_block = 1024;

CodecBytes signcount_bytes(const std::string& spec, std::size_t elements, std::uint64_t ranks) {
  const unsigned width =
      first_width_that_holds(ranks, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 21, 32});
  const std::size_t blocks = (elements + sign_block - 1) / sign_block;
  const auto scale = parameter(spec, "scale");
  CodecBytes bytes{.block = sign_block,
                   .contribution = lanes(sign_block, 1),
                   .sum = lanes(sign_block, width),
                   .agreement = (blocks + 31) / 32 * 8};
  if (!scale || *scale == "l1")
    bytes.agreement = 2 * ((blocks + 1) / 2 * 8);
  else if (*scale == "global")
    bytes.agreement += 16;
  if (parameter(spec, "vote") == "majority" && ranks > 1) bytes.finished = lanes(sign_block, 1);
  return bytes;
}

/// Of calls that are not of full precision.
CodecBytes marsit_bytes(const std::string& spec, std::size_t elements, std::uint64_t ranks) {
  const std::size_t blocks = (elements + sign_block - 1) / sign_block;
  const bool l1 = parameter(spec, "scale").value_or("l1") == "l1";
  const RunBytes own = [=](std::size_t count) {
    const std::size_t ragged = count % sign_block;
    const std::size_t padded = ragged == 0 ? 0 : std::max<std::size_t>(16, std::bit_ceil(ragged));
    const std::size_t bits =
        count / sign_block * ((sign_block + ranks - 1) / ranks) + (padded + ranks - 1) / ranks;
    return (bits + 63) / 64 * 8;
  };
  return {.block = sign_block,
          .contribution = own,
          .sum = lanes(sign_block, 1),
          .agreement = (blocks + 31) / 32 * 8 + (l1 ? 16 : 0),
          .disjoint = ranks > 1};
}

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
  const std::string name = codec.substr(0, codec.find(':'));
  CodecBytes bytes;
  if (name == "raw")
    bytes = raw_bytes(type);
  else if (const auto sums = name == "thc" ? thc_bytes(codec, elements, n) : std::nullopt)
    bytes = *sums;
  else if (const auto budget = name == "packed" ? packed_bytes(codec, algorithm) : std::nullopt)
    bytes = *budget;
  else if (name == "sparse" && shape && elements != 0)
    bytes = sparse_bytes(codec, type, *shape);
  else if (name == "sketch" && shape && elements != 0)
    bytes = sketch_bytes(codec, type, *shape);
  else if (name == "signcount")
    bytes = signcount_bytes(codec, elements, n);
  else if (name == "marsit" && parameter(codec, "period") == "none")
    bytes = marsit_bytes(codec, elements, n);
  else
    return std::nullopt;

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
