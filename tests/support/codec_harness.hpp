#pragma once
// CodecHarness: one allreduce through a codec alone, with n virtual ranks in one thread and no
// schedule, transport or executor. What every rank would hold is there to be looked at.

#include "agreed_words.hpp"
#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "elements.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohom::test {

struct HarnessSetup {
  std::unique_ptr<Codec> (*make)(const CodecContext&) = nullptr;
  int ranks = 1;
  ElementType type = ElementType::f32;
  Parameters parameters = {};
  bool mean = false;
  Form form = Form::narrow;    ///< of contributions, in rounds that have both
  bool in_place = false;       ///< the output lies in the input's place
  std::size_t chunks = 3;      ///< the vector is cut as for this many owners ...
  std::size_t segment = 1000;  ///< ... and into pieces of whole blocks, at most this many elements
  const kernels::KernelTable* kernels = nullptr;  ///< null: the active ones
  int miscount = 0;  ///< added to the number of contributions that decode is told
};

class CodecHarness {
 public:
  explicit CodecHarness(HarnessSetup setup);

  /// Sums (or averages) the ranks' vectors. All ranks decode; checks with gtest that they agree bit
  /// for bit and that every round of fixed length fills exactly its capacity. State lives on from
  /// call to call.
  Bytes allreduce(std::span<const Bytes> inputs, std::uint64_t step = 0);

  /// The same from and to doubles.
  std::vector<double> allreduce(std::span<const std::vector<double>> inputs,
                                std::uint64_t step = 0);

  /// Words of the last call's round, piece by piece in the order of pieces.
  [[nodiscard]] const std::vector<std::uint64_t>& contribution(int round, int rank) const {
    return records_[std::size_t(round)].contributions[std::size_t(rank)];
  }
  [[nodiscard]] const std::vector<std::uint64_t>& sum(int round) const {
    return records_[std::size_t(round)].sum;
  }
  [[nodiscard]] const Codec& codec(int rank) const { return *codecs_[std::size_t(rank)]; }
  [[nodiscard]] Bytes& state(int rank) { return states_[std::size_t(rank)]; }

 private:
  struct Record {
    std::vector<std::vector<std::uint64_t>> contributions;
    std::vector<std::uint64_t> sum;
  };

  /// Of a round's contributions.
  [[nodiscard]] bool is_narrow(const RoundTraits& traits) const;
  void run_round(std::size_t round, std::span<const Piece> pieces);
  std::vector<std::uint64_t> reduce(std::size_t round, const Piece& piece,
                                    std::span<const std::vector<std::uint64_t>> contributions);
  std::vector<std::uint64_t> merge(Round& round, const Piece& piece,
                                   std::span<const std::vector<std::uint64_t>> contributions);

  HarnessSetup setup_;
  const kernels::KernelTable& kernels_;
  std::vector<std::unique_ptr<Codec>> codecs_;
  KeptRounds agreed_;
  std::vector<Bytes> states_;
  std::vector<Record> records_;
};

}  // namespace cohom::test
