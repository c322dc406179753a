#pragma once
// Round `energy` of packed, in which the ranks find the step that keeps an nmse. Specified in
// docs/wire-format.md, "packed".

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/packed/packed_energy.hpp"
#include "codecs/packed/packed_errors.hpp"
#include "codecs/packed/packed_histogram.hpp"
#include "codecs/packed/packed_maximum.hpp"
#include "codecs/packed/packed_options.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom {

/// How many mini-blocks of all ranks have which magnitude, and the energy of the ranks' sum.
class PackedEnergyRound final : public Round {
 public:
  /// As PackedMaximum. `maximum` and `call` outlive it.
  PackedEnergyRound(const CodecContext& context, const PackedOptions& options, std::uint32_t limit,
                    const PackedMaximum& maximum, const CallBuffers& call);

  static std::size_t words(std::size_t elements) {
    return PackedHistogram::words + PackedEnergy::buckets(elements);
  }
  void reserve(std::size_t elements);
  void start();
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements == 0 ? 0 : words(elements);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Asked where some value is not zero.
  [[nodiscard]] double step(const Piece& piece) const;
  /// Above all magnitudes, by at most two; 0: all are zero.
  [[nodiscard]] double largest(const Piece& piece) const;

 private:
  [[nodiscard]] PackedEnergy energy() const;
  /// Of the vector, the ragged one included.
  [[nodiscard]] std::uint64_t minis() const;
  [[nodiscard]] unsigned count_shift() const;
  [[nodiscard]] PackedErrors errors(const PackedHistogram& histogram) const;
  void add(const Piece& piece, std::size_t top);
  void write(std::size_t top, Payload out);

  ElementType type_;
  std::uint32_t ranks_;
  HostWindow window_;
  PackedOptions options_;
  std::uint32_t limit_;
  const PackedMaximum& maximum_;
  const CallBuffers& call_;
  std::size_t elements_ = 0;
  PerWorker<PackedEnergy::Sums> sums_;  ///< of the call in flight
};

}  // namespace cohom
