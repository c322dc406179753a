#include "codecs/exact/exact_payload.hpp"

#include "codecs/exact/exact_accumulator.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {
namespace {

/// With one rank a contribution is the sum.
RoundTraits payload_traits(int ranks) {
  return {.name = "payload",
          .merge = {MergeKind::add},
          .time = RoundTime::payload,
          .contributions = ranks > 1 ? Contributions::narrow : Contributions::like_sums,
          .length = PayloadLength::varying,
          .sums = ranks > 1 ? CompleteSums::finished_if_merged : CompleteSums::as_merged};
}

}  // namespace

ExactPayload::ExactPayload(const CodecContext& context, const ExactDivisor& divisor,
                           ExactHeaderRound& header, ExactWideRound& wide, const CallBuffers& call)
    : Round(payload_traits(context.ranks)),
      type_(context.type),
      ranks_(static_cast<std::size_t>(context.ranks)),
      kernels_(context.kernels.exact),
      memory_(context.memory),
      divisor_(divisor),
      header_(header),
      wide_(wide),
      call_(call),
      scratch_(context.workers),
      sources_(context.workers) {}

std::size_t ExactPayload::encode(std::size_t contributions, const Piece& piece, Payload out) {
  const auto shape = room(contributions);
  const std::size_t words = length(contributions, piece);
  if (call_.added != nullptr)
    call_.added->encode(shape, piece.first, piece.count, header_.header(piece), out.data());
  else
    kernels_.encode(header_.run_of(piece), shape, header_.header(piece),
                    call_.input_at(piece.first), out.data());
  return words;
}

void ExactPayload::expect_words(std::size_t contributions, const Piece& piece, std::size_t words) {
  const std::size_t right = length(contributions, piece);
  if (words != right)
    throw Error(ErrorKind::transport, "exact: a payload of " + std::to_string(words) +
                                          " words came where the header says " +
                                          std::to_string(right));
}

std::size_t ExactPayload::promote(const Piece& piece, std::span<const ConstPayload> contributions,
                                  std::size_t /*room*/, Payload sum) {
  auto& sources = sources_.mine();
  sources.clear();
  for (const ConstPayload words : contributions) {
    expect_words(alone, piece, words.size());
    sources.push_back(words.data());
  }
  const std::size_t words = finished_capacity(ranks_, piece.count);
  memory_.zero(&sum[words - 1], 8);  // the padding of a ragged last word
  if (const std::uint64_t divisor = divisor_.of_call(); divisor != 0)
    kernels_.sum(header_.run_of(piece), room(alone), header_.header(piece), sources.data(),
                 sources.size(), divisor, sum.data());
  else
    divisor_.write_none(piece.count, sum.data());
  return words;
}

std::size_t ExactPayload::round(const Piece& piece, const std::uint64_t* words,
                                std::uint64_t* elements) {
  const std::size_t finished = finished_capacity(ranks_, piece.count);
  memory_.zero(&elements[finished - 1], 8);  // the padding of a ragged last word
  if (const std::uint64_t divisor = divisor_.of_call(); divisor != 0)
    kernels_.decode(header_.run_of(piece), room(ranks_), header_.header(piece), words, divisor,
                    elements);
  else
    divisor_.write_none(piece.count, elements);
  return finished;
}

std::size_t ExactPayload::finish(const Piece& piece, Payload sum, std::size_t words) {
  expect_words(ranks_, piece, words);
  // Elements may be longer than the words of fields that are still to be read.
  std::uint64_t* const scratch = scratch_.mine().data();
  memory_.copy(scratch, sum.data(), 8 * words);
  return round(piece, scratch, sum.data());
}

void ExactPayload::decode(const Piece& piece, ConstPayload sum, std::size_t /*contributions*/) {
  const std::uint64_t* elements = sum.data();
  if (ranks_ == 1) {
    expect_words(ranks_, piece, sum.size());
    std::uint64_t* const scratch = scratch_.mine().data();
    round(piece, sum.data(), scratch);
    elements = scratch;
  } else if (sum.size() != finished_capacity(ranks_, piece.count)) {
    throw Error(ErrorKind::transport, "exact: a sum of " + std::to_string(sum.size()) +
                                          " words came where " + std::to_string(piece.count) +
                                          " elements were due");
  }
  wide_.copy_others(piece, reinterpret_cast<const std::byte*>(elements));
}

}  // namespace cohom
