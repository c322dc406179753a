#include "codecs/exact/exact.hpp"

#include "codecs/common/parameters.hpp"
#include "codecs/exact/exact_accumulator.hpp"
#include "codecs/exact/exact_header.hpp"
#include "codecs/exact/exact_short.hpp"
#include "codecs/exact/exact_vectors.hpp"
#include "codecs/exact/exact_wide.hpp"
#include "kernels/exact/exact.hpp"
#include "memory/memory.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {
namespace {

/// Longer vectors agree on the bits that they need.
constexpr std::size_t max_short_bytes = 1024;

/// With one rank a contribution is the sum.
RoundTraits payload_traits(int ranks) {
  return {.name = "payload",
          .merge = {MergeKind::add},
          .time = RoundTime::payload,
          .contributions = ranks > 1 ? Contributions::narrow : Contributions::like_sums,
          .length = PayloadLength::varying,
          .sums = ranks > 1 ? CompleteSums::finished_if_merged : CompleteSums::as_merged};
}

/// Integers in bit streams. Who has a complete sum rounds it, and elements travel on.
class ExactPayload final : public Round {
 public:
  /// What is referred to outlives it.
  ExactPayload(const CodecContext& context, const ExactDivisor& divisor, ExactHeaderRound& header,
               ExactWideRound& wide, const CallBuffers& call)
      : Round(payload_traits(context.ranks)),
        type_(context.type),
        ranks_(static_cast<std::size_t>(context.ranks)),
        kernels_(context.kernels.exact),
        memory_(context.memory),
        divisor_(divisor),
        header_(header),
        wide_(wide),
        call_(call) {}

  void reserve(std::size_t longest_piece) {
    scratch_ = {memory_, capacity(ranks_, longest_piece)};
    sources_.reserve(ranks_);
  }

  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override {
    return kernels::exact_capacity(room(contributions), type_, elements);
  }
  [[nodiscard]] std::size_t finished_capacity(std::size_t, std::size_t elements) const override {
    return (elements * size_of(type_) + 7) / 8;
  }
  [[nodiscard]] std::size_t length(std::size_t contributions, const Piece& piece) override {
    return header_.payload_words(room(contributions).contributions, piece);
  }
  [[nodiscard]] std::size_t device_scratch(std::size_t longest_piece) const {
    constexpr std::size_t gaps = 4 * 256;  // behind each of them
    return gaps + 8 * (kernels::exact_header_words(type_, longest_piece) +
                       kernels::exact_groups(longest_piece) + 1 + ranks_);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  std::size_t promote(const Piece& piece, std::span<const ConstPayload> contributions,
                      Payload sum) override;
  std::size_t finish(const Piece& piece, Payload sum, std::size_t words) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] kernels::ExactRoom room(std::size_t contributions) const {
    return {ranks_, contributions == alone ? 1 : contributions};
  }
  /// Words of a payload with room for so many contributions are as many as the header says.
  void expect_words(std::size_t contributions, const Piece& piece, std::size_t words);
  /// Writes rounded elements, zeros behind them up to whole words, and returns these.
  std::size_t round(const Piece& piece, const std::uint64_t* words, std::uint64_t* elements);

  ElementType type_;
  std::size_t ranks_;
  const kernels::ExactKernels& kernels_;
  Memory& memory_;
  const ExactDivisor& divisor_;
  ExactHeaderRound& header_;
  ExactWideRound& wide_;
  const CallBuffers& call_;
  MemoryArray<std::uint64_t> scratch_;  ///< of one piece
  std::vector<const std::uint64_t*> sources_;
};

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
                                  Payload sum) {
  sources_.clear();
  for (const ConstPayload words : contributions) {
    expect_words(alone, piece, words.size());
    sources_.push_back(words.data());
  }
  const std::size_t words = finished_capacity(ranks_, piece.count);
  memory_.zero(&sum[words - 1], 8);  // the padding of a ragged last word
  if (const std::uint64_t divisor = divisor_.of_call(); divisor != 0)
    kernels_.sum(header_.run_of(piece), room(alone), header_.header(piece), sources_.data(),
                 sources_.size(), divisor, sum.data());
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
  memory_.copy(scratch_.data(), sum.data(), 8 * words);
  return round(piece, scratch_.data(), sum.data());
}

void ExactPayload::decode(const Piece& piece, ConstPayload sum, std::size_t /*contributions*/) {
  const std::uint64_t* elements = sum.data();
  if (ranks_ == 1) {
    expect_words(ranks_, piece, sum.size());
    round(piece, sum.data(), scratch_.data());
    elements = scratch_.data();
  } else if (sum.size() != finished_capacity(ranks_, piece.count)) {
    throw Error(ErrorKind::transport, "exact: a sum of " + std::to_string(sum.size()) +
                                          " words came where " + std::to_string(piece.count) +
                                          " elements were due");
  }
  wide_.copy_others(piece, reinterpret_cast<const std::byte*>(elements));
}

/// Any vector: a header, integers as wide as it says, and what is wider than the payload takes.
class ExactCodec final : public Codec {
 public:
  ExactCodec(const CodecContext& context, bool many)
      : divisor_(context, many ? &vectors_.emplace(call_) : nullptr),
        header_(context, call_),
        wide_(context, divisor_, header_, call_),
        payload_(context, divisor_, header_, wide_, call_) {
    add(header_);
    if (vectors_) add(*vectors_);
    add(payload_);
    add(wide_);
  }

  [[nodiscard]] std::size_t block() const override { return kernels::exact_group; }
  void reserve(std::size_t /*elements*/, std::size_t longest_piece) override {
    payload_.reserve(longest_piece);
  }
  /// A header, where its groups' words begin, and where contributions lie.
  [[nodiscard]] std::size_t device_scratch(std::size_t /*elements*/,
                                           std::size_t longest_piece) const override {
    return payload_.device_scratch(longest_piece);
  }

 private:
  void start() override { header_.start(); }

  std::optional<ExactVectorsRound> vectors_;
  ExactDivisor divisor_;
  ExactHeaderRound header_;
  ExactWideRound wide_;
  ExactPayload payload_;
};

/// One round, whatever the numbers.
class ShortExactCodec final : public Codec {
 public:
  ShortExactCodec(const CodecContext& context, bool many) : payload_(context, many, call_) {
    add(payload_);
  }
  [[nodiscard]] std::size_t block() const override { return kernels::exact_mini; }

 private:
  ExactShortPayload payload_;
};

constexpr ParameterInfo parameters[] = {
    {"vectors", "one", "one, many",
     "that a rank contributes; many: any number, by cohom::ExactSum"},
};

bool takes_many(const Parameters& given) {
  static constexpr std::string_view vectors[] = {"one", "many"};
  return ParameterReader("exact", parameters, given).choice("vectors", vectors) == 1;
}

std::unique_ptr<Codec> make_exact(const CodecContext& context) {
  const bool many = takes_many(context.parameters);
  if (static_cast<std::size_t>(context.ranks) > kernels::exact_max_contributions)
    throw Error(ErrorKind::unsupported, "exact: " + std::to_string(context.ranks) +
                                            " ranks are too many; at most " +
                                            std::to_string(kernels::exact_max_contributions));
  if (context.elements != 0 && context.elements * size_of(context.type) <= max_short_bytes)
    return std::make_unique<ShortExactCodec>(context, many);
  return std::make_unique<ExactCodec>(context, many);
}

/// Lengths depend on the vectors.
std::optional<CodecBytes> exact_bytes(const BytesQuery&) { return std::nullopt; }

constexpr CodecSample samples[] = {{.spec = "exact", .rounds_once = true},
                                   {.spec = "exact:vectors=many", .rounds_once = true}};

}  // namespace

const CodecRow& exact_codec() {
  static const CodecRow row{
      .info = {"exact", "correctly rounded sums: the same bits whatever the order and the ranks",
               parameters},
      .make = make_exact,
      .device = {
          .has_kernels = [](const kernels::KernelTable& device) { return complete(device.exact); },
          .is = [](const Parameters& given, ElementType) { return !takes_many(given); },
          .only = "vectors=one"},
      .samples = samples,
      .bounds_errors = [](const Parameters&) { return true; },
      .takes_many = takes_many,
      .bytes = exact_bytes,
  };
  return row;
}

}  // namespace cohom
