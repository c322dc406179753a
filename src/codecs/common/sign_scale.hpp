#pragma once
// SignScale: the rounds in which ranks agree on what a sign stands for, and on blocks that have no
// signs: those with a NaN or an infinity on some rank, which escape, and those that are zero on all.
// Means of magnitudes are exact sums of fixed-point numbers below an agreed power of two, so that no
// order of additions matters (docs/wire-format.md, "Scales of signs").

#include "codecs/common/codec_context.hpp"
#include "codecs/common/codec_interface.hpp"
#include "codecs/common/escaped_blocks.hpp"
#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>
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
  /// `codec`: the name that errors are said with.
  SignScale(const CodecContext& context, const SignScaleOptions& options, std::string_view codec);

  /// The rounds, numbers 0, 1, ... of the codec.
  [[nodiscard]] std::vector<RoundInfo> rounds() const;
  [[nodiscard]] std::size_t capacity(int round, std::size_t elements) const;
  void reserve(std::size_t elements, std::size_t longest_piece);

  /// Before round 0 of the pieces that whole blocks belong to. With state, it adds the input to what was
  /// left over there.
  void measure(const kernels::SignRun& run, const CallBuffers& call);
  std::size_t encode(int round, const Piece& piece, const Agreed& agreed, Words out);

  /// The scale of each block of a piece, below 0 for an escaped one; valid until the next call.
  [[nodiscard]] std::span<const double> scales(const Piece& piece, const Agreed& agreed);
  /// Of a vector's scale or a number: clears the signs of blocks that have none, which round 0 says.
  void clear_blocks_without_signs(const Piece& piece, const Agreed& agreed, Words signs) const;
  /// Finds the escaped blocks of all pieces; returns their elements.
  std::size_t find_escaped(const Agreed& agreed, EscapedBlocks& escaped);

 private:
  [[nodiscard]] std::span<kernels::SignBlock> blocks_of_piece(const Piece& piece);
  std::size_t encode_codes(std::span<const kernels::SignBlock> blocks, Words out) const;
  std::size_t encode_sums(std::span<const kernels::SignBlock> blocks, ConstWords agreed_codes,
                          Words out) const;
  std::size_t encode_blocks(std::span<const kernels::SignBlock> blocks, Words out) const;
  /// The largest code of this rank's blocks that do not escape.
  [[nodiscard]] std::uint32_t own_exponent() const;
  [[nodiscard]] std::uint64_t encode_mean(std::uint32_t largest) const;
  /// The agreed code of a block's or the vector's largest magnitude, known to be one that a rank
  /// can have sent. @throws Error(transport)
  [[nodiscard]] std::uint32_t checked(std::string_view round, std::uint64_t code) const;
  /// The same in a rank that sent `own`.
  [[nodiscard]] std::uint32_t checked(std::string_view round, std::uint64_t code,
                                      std::uint32_t own) const;
  [[nodiscard]] double block_scale(std::uint32_t code, std::uint32_t sum, std::size_t count) const;
  [[nodiscard]] double vector_scale(const Piece& piece, const Agreed& agreed) const;
  /// Rounded as the elements' arithmetic holds it.
  [[nodiscard]] double rounded(double scale) const;

  ElementType type_;
  const kernels::SignKernels& kernels_;
  Memory& memory_;
  std::string_view codec_;
  std::uint32_t ranks_;
  int rank_bits_;  ///< of the number of ranks
  SignScaleOptions options_;
  std::size_t elements_ = 0;
  std::vector<kernels::SignBlock> blocks_;  ///< of the vector
  std::vector<double> scales_;              ///< of one piece
};

}  // namespace cohom
