#pragma once
// Round `maximum` of packed, the first of those in which the ranks find a common step. Specified in
// docs/wire-format.md, "packed".

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/packed/packed_options.hpp"
#include "codecs/packed/packed_widths.hpp"
#include "memory/host_window.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

/// Round `maximum`: of all ranks' largest bins, steps or magnitudes, as the target wants it.
class PackedMaximum final : public Round {
 public:
  /// `limit`: no finite value may exceed so many steps; a power of two. `call` outlives it.
  PackedMaximum(const CodecContext& context, const PackedOptions& options, std::uint32_t limit,
                const CallBuffers& call);

  void start();
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements != 0;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;

  /// Of mini-blocks of this rank, counted by magnitude.
  [[nodiscard]] const std::vector<std::uint32_t>& bins() const { return measured_.owners().bins; }
  /// The agreed word, known to be one that a rank can have sent; 0: all is zero.
  [[nodiscard]] std::uint64_t maximum(const Piece& piece) const;
  /// Of a budget of the busiest rank: the agreed word as a step. It is not 0.
  [[nodiscard]] PackedStep largest_step(const Piece& piece) const;

 private:
  /// Of this rank's pieces, some.
  struct Measured {
    std::vector<std::uint32_t> bins;
    double largest = 0;  ///< rel_error: magnitude
  };

  void measure(const Piece& piece);
  void add_workers();
  [[nodiscard]] std::uint32_t own_maximum() const;

  ElementType type_;
  const kernels::PackedKernels& kernels_;
  HostWindow window_;
  PackedOptions options_;
  std::uint32_t limit_;
  const CallBuffers& call_;

  PerWorker<Measured> measured_;  ///< in the call in flight
};

}  // namespace cohom
