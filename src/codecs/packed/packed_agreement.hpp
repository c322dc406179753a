#pragma once
// The rounds of packed before its payload, in which the ranks find a common step. Specified in
// docs/wire-format.md, "packed".

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/packed/packed_energy_round.hpp"
#include "codecs/packed/packed_maximum.hpp"
#include "codecs/packed/packed_options.hpp"
#include "codecs/packed/packed_sample.hpp"
#include "codecs/packed/packed_step.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cohom {

/// Round `histogram`: how many mini-blocks of all ranks have which magnitude, and what a sample of
/// them shows.
class PackedHistogramRound final : public Round {
 public:
  /// `maximum` and `call` outlive it.
  PackedHistogramRound(const CodecContext& context, const PackedOptions& options,
                       std::uint32_t limit, const PackedMaximum& maximum, const CallBuffers& call);

  void reserve(std::size_t elements);
  [[nodiscard]] std::size_t device_scratch(std::size_t elements) const {
    return sample(elements).listed() * PackedMinis::max_mini_bytes;
  }
  [[nodiscard]] std::size_t capacity(std::size_t contributions,
                                     std::size_t elements) const override;
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// So that contributions and sums together, and what was agreed on before them, meet the budget.
  [[nodiscard]] PackedStep step(const Piece& piece) const;

 private:
  void take_sample(std::size_t top, Payload out);
  [[nodiscard]] PackedSample sample(std::size_t elements) const;
  /// Of the vector, the ragged one included.
  [[nodiscard]] std::uint64_t minis() const;
  /// What counters count is 2^(so many) mini-blocks.
  [[nodiscard]] unsigned count_shift() const;

  ElementType type_;
  std::uint32_t ranks_;
  Memory& memory_;
  PackedOptions options_;
  std::uint32_t limit_;
  const PackedMaximum& maximum_;
  const CallBuffers& call_;
  std::size_t elements_ = 0;
  std::optional<PackedMinis> minis_;  ///< what a sample looks at
};

class PackedAgreement {
 public:
  /// As PackedMaximum.
  PackedAgreement(const CodecContext& context, const PackedOptions& options, std::uint32_t limit,
                  const CallBuffers& call);

  /// In order, each of scope `vector`; none when the step needs no agreement.
  [[nodiscard]] std::span<Round* const> rounds() { return rounds_; }

  /// For vectors of so many elements.
  /// @throws Error(unsupported) where a rank's own counters could overflow.
  void reserve(std::size_t elements);
  /// Bytes of a device, where the mini-blocks of a sample are put together.
  [[nodiscard]] std::size_t device_scratch(std::size_t elements) const;
  void start();
  /// When all rounds() are complete.
  [[nodiscard]] double step(const Piece& piece) const;
  /// Whether f32 cannot tell integers of this step apart well enough for what was asked.
  [[nodiscard]] bool needs_f64(const Piece& piece, double step) const;

 private:
  std::uint32_t ranks_;
  PackedOptions options_;
  std::unique_ptr<PackedMaximum> maximum_;
  std::unique_ptr<PackedHistogramRound> histogram_;
  std::unique_ptr<PackedEnergyRound> energy_;
  std::vector<Round*> rounds_;
};

}  // namespace cohom
