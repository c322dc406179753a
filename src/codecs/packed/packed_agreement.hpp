#pragma once
// The rounds of packed before its payload, in which the ranks find a common step. Specified in
// docs/wire-format.md, "packed".

#include "codecs/common/codec_context.hpp"
#include "codecs/common/codec_interface.hpp"
#include "codecs/packed/packed_options.hpp"
#include "codecs/packed/packed_sample.hpp"
#include "codecs/packed/packed_step.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohom {

class PackedAgreement {
 public:
  /// `limit`: no finite value may exceed so many steps; a power of two.
  PackedAgreement(const CodecContext& context, const PackedOptions& options, std::uint32_t limit);

  /// In order, each of scope `vector`; none when the step needs no agreement.
  [[nodiscard]] static std::vector<RoundInfo> rounds(const PackedOptions& options);
  [[nodiscard]] std::size_t capacity(int round, std::size_t elements) const;

  /// For vectors of so many elements.
  void reserve(std::size_t elements);
  /// Bytes of a device, where the mini-blocks of a sample are put together.
  [[nodiscard]] std::size_t device_scratch(std::size_t elements) const;
  void begin(const CallBuffers& call);
  /// Of one of rounds(), for every piece in order; the last one's call writes the round's words.
  std::size_t encode(int round, const Piece& piece, const Agreed& agreed, Words out);
  /// When all rounds() are complete.
  [[nodiscard]] double step(const Piece& piece, const Agreed& agreed) const;

 private:
  void measure(const Piece& piece);
  /// The word of round `maximum`, which is known to be one that a rank can have sent.
  [[nodiscard]] std::uint64_t agreed_maximum(const Piece& piece, const Agreed& agreed) const;
  void check_histogram(const PackedHistogram& histogram) const;
  [[nodiscard]] std::uint32_t own_maximum() const;
  void look(std::size_t top, Words out);
  [[nodiscard]] PackedSample sample(std::size_t elements) const;
  [[nodiscard]] PackedStep step_for_mean(std::size_t top, ConstWords words) const;

  ElementType type_;
  std::uint32_t ranks_;
  const kernels::PackedKernels& kernels_;
  Memory& memory_;
  HostWindow window_;
  PackedOptions options_;
  std::uint32_t limit_;
  std::size_t elements_ = 0;
  std::optional<PackedMinis> minis_;  ///< what a sample looks at

  // Of the call in flight.
  CallBuffers call_;
  std::vector<std::uint32_t> bins_;
  double largest_ = 0;  ///< rel_error: magnitude
};

}  // namespace cohom
