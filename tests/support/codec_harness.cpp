#include "codec_harness.hpp"

#include "executor/chunking.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cohom::test {

using WordVector = std::vector<std::uint64_t>;

CodecHarness::CodecHarness(HarnessSetup setup)
    : setup_(std::move(setup)),
      kernels_(setup_.kernels != nullptr ? *setup_.kernels : kernels::kernel_table()),
      states_(std::size_t(setup_.ranks)) {
  const auto divisor = setup_.mean ? std::uint64_t(setup_.ranks) : 1;
  for (int rank = 0; rank < setup_.ranks; ++rank)
    codecs_.push_back(setup_.make({.rank = rank,
                                   .ranks = setup_.ranks,
                                   .type = setup_.type,
                                   .divisor = divisor,
                                   .kernels = kernels_,
                                   .parameters = setup_.parameters,
                                   .mean = setup_.mean}));
}

Bytes CodecHarness::allreduce(std::span<const Bytes> inputs, std::uint64_t step) {
  const std::size_t elements = inputs[0].size() / size_of(setup_.type);
  std::vector<Bytes> in(inputs.begin(), inputs.end());
  std::vector<Bytes> out(in.size(), Bytes(inputs[0].size(), std::byte{0xa5}));
  const std::size_t block = codecs_[0]->block();
  const std::size_t segment = setup_.segment / block * block;
  const Chunking chunking(elements, block, setup_.chunks, segment);
  for (std::size_t r = 0; r < codecs_.size(); ++r) {
    codecs_[r]->reserve(elements, chunking.longest_piece());
    states_[r].resize(codecs_[r]->state_bytes(elements));
    codecs_[r]->begin({setup_.type, in[r].data(), (setup_.in_place ? in : out)[r].data(), step,
                       states_[r], chunking.pieces()});
  }
  const auto rounds = codecs_[0]->rounds();
  agreed_.start(rounds);
  for (const auto& codec : codecs_) agreed_.keep_of(codec->rounds());
  records_.assign(rounds.size(), {std::vector<WordVector>(codecs_.size()), {}});
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    if (!rounds[round]->traits().is_fallback()) {
      if (codecs_[0]->skips(*rounds[round])) continue;
      run_round(round, chunking.pieces());
      continue;
    }
    std::size_t fallback = 0;
    for (const auto& codec : codecs_) fallback = codec->rounds()[round]->fallback_elements();
    if (fallback == 0) continue;
    const Chunking own(fallback, block, setup_.chunks, segment);
    run_round(round, own.pieces());
  }
  const auto& results = setup_.in_place ? in : out;
  for (const Bytes& result : results) EXPECT_TRUE(result == results[0]) << "ranks differ";
  return results[0];
}

bool CodecHarness::is_narrow(const RoundTraits& traits) const {
  // By direct contributions are narrow where they can be.
  return traits.narrow() &&
         (setup_.form == Form::narrow || traits.algorithm == RoundAlgorithm::direct);
}

void CodecHarness::run_round(std::size_t round, std::span<const Piece> pieces) {
  const Round& first = *codecs_[0]->rounds()[round];
  const RoundTraits& traits = first.traits();
  const std::size_t contributors = is_narrow(traits) ? alone : codecs_.size();
  const bool one = traits.scope == RoundScope::vector;
  const bool decoded = traits.time != RoundTime::before_payload;
  Record& record = records_[round];
  std::size_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.count;

  std::vector<WordVector> contributions(codecs_.size());
  std::vector<WordVector> sums;
  for (const Piece& piece : pieces) {
    const std::size_t capacity = first.capacity(contributors, one ? elements : piece.count);
    for (std::size_t r = 0; r < codecs_.size(); ++r) {
      // Stale words: whatever encode leaves out shows up as a difference.
      if (!one || piece.index == 0) contributions[r].assign(capacity, 0x5a5a5a5a5a5a5a5au);
      const std::size_t words =
          codecs_[r]->rounds()[round]->encode(contributors, piece, contributions[r]);
      contributions[r].resize(words);
      // Word by word only what is equally long can be merged.
      if (!traits.merges_itself()) {
        EXPECT_EQ(words, traits.varies() ? contributions[0].size() : capacity) << traits.name;
      }
      if (one && piece.index + 1 < pieces.size()) continue;
      auto& all = record.contributions[r];
      all.insert(all.end(), contributions[r].begin(), contributions[r].end());
    }
    if (one && piece.index + 1 < pieces.size()) continue;
    sums.push_back(reduce(round, piece, contributions));
    record.sum.insert(record.sum.end(), sums.back().begin(), sums.back().end());
    if (!decoded) agreed_.add(round, sums.back());
  }
  if (!decoded) return;
  // After all encoding, as in a call whose output may lie in its input.
  for (const Piece& piece : pieces)
    for (auto& codec : codecs_)
      codec->rounds()[round]->decode(piece, sums[piece.index],
                                     codecs_.size() + std::size_t(setup_.miscount));
}

WordVector CodecHarness::reduce(std::size_t round, const Piece& piece,
                                std::span<const WordVector> contributions) {
  Round& part = *codecs_[0]->rounds()[round];
  WordVector sum = merge(part, piece, contributions);
  if (codecs_.size() == 1 || !(is_narrow(part.traits()) ? part.traits().finishes_promoted()
                                                        : part.traits().finishes_sums()))
    return sum;
  const std::size_t words = sum.size();
  sum.resize(part.capacity(codecs_.size(), piece.count), 0x5a5a5a5a5a5a5a5au);
  sum.resize(part.finish(piece, sum, words));
  return sum;
}

WordVector CodecHarness::merge(Round& round, const Piece& piece,
                               std::span<const WordVector> contributions) {
  const RoundTraits& traits = round.traits();
  const std::vector<ConstPayload> words(contributions.begin(), contributions.end());
  const std::size_t capacity = round.capacity(codecs_.size(), piece.count);
  if (is_narrow(traits)) {
    WordVector sum(capacity, 0x5a5a5a5a5a5a5a5au);
    const std::size_t written = round.promote(piece, words, codecs_.size(), sum);
    // Sums of all may be finished, and those have a length of their own.
    const std::size_t finished = round.finished_capacity(codecs_.size(), piece.count);
    EXPECT_TRUE(traits.varies() || written == sum.size() || written == finished) << written;
    sum.resize(written);
    return sum;
  }
  if (traits.merges_itself()) {
    WordVector sum(capacity, 0x5a5a5a5a5a5a5a5au);
    sum.resize(round.merge(piece, words, sum));
    return sum;
  }
  WordVector sum(contributions[0].size());
  std::vector<const void*> sources;
  for (const ConstPayload source : words) sources.push_back(source.data());
  kernels_.merge(traits.merge, sources.data(), sources.size(), 8 * sum.size(), sum.data());
  return sum;
}

std::vector<double> CodecHarness::allreduce(std::span<const std::vector<double>> inputs,
                                            std::uint64_t step) {
  std::vector<Bytes> bytes;
  for (const auto& input : inputs) bytes.push_back(to_bytes(setup_.type, input));
  return to_values(setup_.type, allreduce(bytes, step));
}

}  // namespace cohom::test
