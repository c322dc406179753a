#pragma once
// LoneRank: one rank's codec of a call of many ranks, all of which have its vector and draw as it
// does. Their sums of words are multiples of its own words, so that thousands of ranks need no
// memory.

#include "agreed_words.hpp"
#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "elements.hpp"
#include "executor/chunking.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cohom::test {

struct LoneRankSetup {
  std::unique_ptr<Codec> (*make)(const CodecContext&) = nullptr;
  int rank = 0;
  int ranks = 1;
  ElementType type = ElementType::f32;
  Parameters parameters = {};
  std::size_t elements = 0;
  const kernels::KernelTable* kernels = nullptr;  ///< null: the active ones
};

class LoneRank {
 public:
  using Words = std::vector<std::uint64_t>;

  /// The codec's errors are thrown here.
  explicit LoneRank(const LoneRankSetup& setup)
      : setup_(setup),
        codec_(setup.make(
            {.rank = setup.rank,
             .ranks = setup.ranks,
             .type = setup.type,
             .kernels = setup.kernels != nullptr ? *setup.kernels : kernels::kernel_table(),
             .parameters = setup.parameters})),
        chunking_(setup.elements, codec_->block(), 1, std::size_t{1} << 16),
        output_(setup.elements * size_of(setup.type)) {
    codec_->reserve(setup.elements, chunking_.longest_piece());
  }

  /// Up to the payload: what all ranks agree on is what this one says.
  void agree(const Bytes& input, std::uint64_t step) {
    codec_->begin({.type = setup_.type,
                   .input = input.data(),
                   .output = output_.data(),
                   .step = step,
                   .pieces = chunking_.pieces()});
    agreed_.start(codec_->rounds());
    for (std::size_t round = 0; round < codec_->payload_round(); ++round) {
      if (codec_->skips(*codec_->rounds()[round])) continue;
      for (Words& words : encode(round, codec_->rounds()[round]->traits().narrow()))
        agreed_.add(round, sum_of(round, std::move(words)));
    }
  }

  /// This rank's payload, by piece; after agree().
  std::vector<Words> payload(Form form) {
    return encode(codec_->payload_round(), form == Form::narrow);
  }

  /// What the sums of payloads in the wide form come to.
  const Bytes& decode(std::vector<Words> payload) {
    Round& round = *codec_->rounds()[codec_->payload_round()];
    for (const Piece& piece : chunking_.pieces())
      round.decode(piece, sum_of(codec_->payload_round(), std::move(payload[piece.index])),
                   std::size_t(setup_.ranks));
    return output_;
  }

  /// What a round of scope `vector` has agreed on.
  [[nodiscard]] ConstPayload agreed(std::size_t round) const {
    return agreed_.words(round, chunking_.pieces().front());
  }
  [[nodiscard]] const Codec& codec() const { return *codec_; }

 private:
  std::vector<Words> encode(std::size_t number, bool narrow) {
    Round& round = *codec_->rounds()[number];
    const std::size_t contributors = narrow ? alone : std::size_t(setup_.ranks);
    const bool one = round.traits().scope == RoundScope::vector;
    std::vector<Words> all;
    for (const Piece& piece : chunking_.pieces()) {
      if (!one || all.empty())
        all.emplace_back(round.capacity(contributors, one ? setup_.elements : piece.count));
      all.back().resize(round.encode(contributors, piece, all.back()));
    }
    return all;
  }

  /// Of all ranks; `max` and `or` leave what is alike.
  [[nodiscard]] Words sum_of(std::size_t round, Words words) const {
    if (codec_->rounds()[round]->traits().merge.kind == MergeKind::add)
      for (std::uint64_t& word : words) word *= std::uint64_t(setup_.ranks);
    return words;
  }

  LoneRankSetup setup_;
  std::unique_ptr<Codec> codec_;
  Chunking chunking_;
  Bytes output_;
  KeptRounds agreed_;
};

}  // namespace cohom::test
