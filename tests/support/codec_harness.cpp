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
    codecs_.push_back(
        setup_.make({rank, setup_.ranks, setup_.type, divisor, kernels_, setup_.parameters}));
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
    codecs_[r]->begin(
        {setup_.type, in[r].data(), (setup_.in_place ? in : out)[r].data(), step, states_[r]});
  }
  const auto rounds = codecs_[0]->rounds();
  AgreedWords agreed(rounds, chunking.pieces());
  records_.assign(rounds.size(), {std::vector<WordVector>(codecs_.size()), {}});
  for (int round = 0; round < int(rounds.size()); ++round) {
    if (rounds[std::size_t(round)].scope != RoundScope::late) {
      if (codecs_[0]->skips(round)) continue;
      run_round(round, chunking.pieces(), agreed, round >= codecs_[0]->payload_round());
      continue;
    }
    std::size_t late = 0;
    for (const auto& codec : codecs_) late = codec->late_elements(round, agreed);
    if (late == 0) continue;
    const Chunking own(late, block, setup_.chunks, segment);
    run_round(round, own.pieces(), agreed, true);
  }
  const auto& results = setup_.in_place ? in : out;
  for (const Bytes& result : results) EXPECT_TRUE(result == results[0]) << "ranks differ";
  return results[0];
}

void CodecHarness::run_round(int round, std::span<const Piece> pieces, AgreedWords& agreed,
                             bool decoded) {
  const RoundInfo& info = codecs_[0]->rounds()[std::size_t(round)];
  // A late round has but one algorithm, whose contributions are narrow where they can be.
  const bool narrow = setup_.form == Form::narrow || info.scope == RoundScope::late;
  const Form form = info.narrow && narrow ? Form::narrow : Form::wide;
  const bool one = info.scope == RoundScope::vector;
  Record& record = records_[std::size_t(round)];
  std::size_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.count;

  std::vector<WordVector> contributions(codecs_.size());
  std::vector<WordVector> sums;
  for (const Piece& piece : pieces) {
    const std::size_t capacity = codecs_[0]->capacity(round, form, one ? elements : piece.count);
    for (std::size_t r = 0; r < codecs_.size(); ++r) {
      // Stale words: whatever encode leaves out shows up as a difference.
      if (!one || piece.index == 0) contributions[r].assign(capacity, 0x5a5a5a5a5a5a5a5au);
      const std::size_t words = codecs_[r]->encode(round, form, piece, agreed, contributions[r]);
      contributions[r].resize(words);
      // Word by word only what is equally long can be merged.
      if (info.merge.kind != MergeKind::add_packed) {
        EXPECT_EQ(words, info.varies ? contributions[0].size() : capacity) << info.name;
      }
      if (one && piece.index + 1 < pieces.size()) continue;
      auto& all = record.contributions[r];
      all.insert(all.end(), contributions[r].begin(), contributions[r].end());
    }
    if (one && piece.index + 1 < pieces.size()) continue;
    sums.push_back(reduce(round, piece, agreed, contributions));
    record.sum.insert(record.sum.end(), sums.back().begin(), sums.back().end());
    if (!decoded) agreed.add(round, sums.back());
  }
  if (!decoded) return;
  // After all encoding, as in a call whose output may lie in its input.
  for (const Piece& piece : pieces)
    for (auto& codec : codecs_)
      codec->decode(round, piece, agreed, sums[piece.index],
                    codecs_.size() + std::size_t(setup_.miscount));
}

WordVector CodecHarness::reduce(int round, const Piece& piece, const Agreed& agreed,
                                std::span<const WordVector> contributions) {
  const RoundInfo& info = codecs_[0]->rounds()[std::size_t(round)];
  WordVector sum = merge(round, piece, agreed, contributions);
  if (!info.finishes || codecs_.size() == 1) return sum;
  const std::size_t words = sum.size();
  sum.resize(codecs_[0]->capacity(round, Form::wide, piece.count), 0x5a5a5a5a5a5a5a5au);
  sum.resize(codecs_[0]->finish(round, piece, sum, words));
  return sum;
}

WordVector CodecHarness::merge(int round, const Piece& piece, const Agreed& agreed,
                               std::span<const WordVector> contributions) {
  const RoundInfo& info = codecs_[0]->rounds()[std::size_t(round)];
  const std::vector<ConstWords> words(contributions.begin(), contributions.end());
  const std::size_t capacity = codecs_[0]->capacity(round, Form::wide, piece.count);
  if (info.narrow && (setup_.form == Form::narrow || info.scope == RoundScope::late)) {
    WordVector sum(capacity, 0x5a5a5a5a5a5a5a5au);
    const std::size_t written = codecs_[0]->widen(round, piece, agreed, words, sum);
    EXPECT_EQ(written, info.varies ? written : sum.size());
    sum.resize(written);
    return sum;
  }
  if (info.merge.kind == MergeKind::add_packed) {
    WordVector sum(capacity, 0x5a5a5a5a5a5a5a5au);
    sum.resize(kernels_.packed.merge(kernels::packed_groups(piece.count), words.data(),
                                     words.size(), sum.data()));
    EXPECT_FALSE(sum.empty()) << "a payload was refused";
    return sum;
  }
  WordVector sum(contributions[0].size());
  std::vector<const void*> sources;
  for (const ConstWords source : words) sources.push_back(source.data());
  kernels_.merge(info.merge, sources.data(), sources.size(), 8 * sum.size(), sum.data());
  return sum;
}

std::vector<double> CodecHarness::allreduce(std::span<const std::vector<double>> inputs,
                                            std::uint64_t step) {
  std::vector<Bytes> bytes;
  for (const auto& input : inputs) bytes.push_back(to_bytes(setup_.type, input));
  return to_values(setup_.type, allreduce(bytes, step));
}

}  // namespace cohom::test
