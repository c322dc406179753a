#pragma once
// SignScale: the rounds in which ranks agree on what a sign stands for, and on blocks that have no
// signs: outliers, with a NaN or an infinity on some rank, and those that are zero on
// all. Means of magnitudes are exact sums of fixed-point numbers below an agreed power of two, so
// that no order of additions matters (docs/wire-format.md, "Scales of signs").

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/outlier_blocks.hpp"
#include "codecs/common/sign_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

enum class SignScaleKind : std::uint8_t {
  block,   ///< mean magnitude of every block, over all ranks
  vector,  ///< mean magnitude of the vector, over all ranks
  number,  ///< what the user says
};

struct SignScaleOptions {
  SignScaleKind kind = SignScaleKind::block;
  double number = 0;
  bool of_input = false;  ///< means leave out what calls before have left over
};

class SignScale {
 public:
  /// Measures a piece's blocks, before the first round encodes it.
  using Measure = std::function<void(const Piece&)>;

  virtual ~SignScale() = default;

  /// The first of the codec, in this order.
  [[nodiscard]] virtual std::span<Round* const> rounds() = 0;
  virtual void reserve(std::size_t elements, std::size_t longest_piece) {
    blocks_.reserve(elements);
    scales_.for_each([&](auto& scales) { scales.reserve(SignBlocks::count(longest_piece)); });
  }
  [[nodiscard]] SignBlocks& blocks() { return blocks_; }

  /// The scale of each block of a piece, below 0 for an outlier; valid until the thread's next
  /// call.
  std::span<const double> scales(const Piece& piece) {
    auto& scales = scales_.mine();
    scales.resize(SignBlocks::count(piece.count));
    find_scales(piece, scales);
    return scales;
  }
  void find_outliers(std::span<const Piece> pieces, OutlierBlocks& outliers);

 protected:
  explicit SignScale(const SignBlocks& blocks) : blocks_(blocks), scales_(blocks.workers()) {}
  virtual void find_scales(const Piece& piece, std::span<double> scales) = 0;

  SignBlocks blocks_;

 private:
  PerWorker<std::vector<double>> scales_;  ///< of one piece
};

/// One scale for all blocks: of kinds `vector` and `number`.
class CommonSignScale : public SignScale {
 public:
  /// Clears the signs of blocks that have none, which the first round says.
  virtual void clear_blocks_without_signs(const Piece& piece, Payload signs) const = 0;

 protected:
  using SignScale::SignScale;
};

/// What a scale is made of. `call` outlives it.
struct SignScaleSetup {
  const CodecContext& context;
  const SignScaleOptions& options;
  std::string_view codec;  ///< the name that errors are said with
  const CallBuffers& call;
  SignScale::Measure measure;
  NeededBy later_rounds_needed_by = NeededBy::encoding;  ///< all but the first
};

std::unique_ptr<SignScale> make_sign_scale(const SignScaleSetup& setup);
/// Of kinds `vector` and `number`.
std::unique_ptr<CommonSignScale> make_common_sign_scale(const SignScaleSetup& setup);

}  // namespace cohom
