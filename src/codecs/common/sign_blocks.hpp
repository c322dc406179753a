#pragma once
// SignBlocks: what this rank knows of the blocks of its vector before ranks agree on a scale of
// signs, and which numbers ranks can agree on.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cohom {

class SignBlocks {
 public:
  /// `codec`: the name that errors are said with. `of_input`: means leave out what calls before
  /// have left over. `call` outlives it.
  SignBlocks(const CodecContext& context, std::string_view codec, bool of_input,
             const CallBuffers& call);

  void reserve(std::size_t elements);
  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// CodecContext's.
  [[nodiscard]] std::size_t workers() const { return workers_; }
  /// Bits of a number below `ranks`.
  [[nodiscard]] int rank_bits() const { return rank_bits_; }
  [[nodiscard]] std::string_view codec() const { return codec_; }

  /// Of a run of whole blocks. With state, it adds the input to what was left over there.
  void measure(const kernels::SignRun& run);
  [[nodiscard]] std::span<const kernels::SignBlock> of(const Piece& piece) const;
  [[nodiscard]] std::span<const kernels::SignBlock> all() const { return blocks_; }
  /// The largest code of blocks that are no outliers.
  [[nodiscard]] std::uint32_t largest_code() const;

  /// An agreed code of a block's or the vector's largest magnitude, if it is one that a rank can
  /// have sent. @throws Error(transport)
  [[nodiscard]] std::uint32_t checked(std::string_view round, std::uint64_t code,
                                      bool may_be_outliers) const;
  /// An agreed maximum is no less than what this rank sent. @throws Error(transport)
  void expect_no_less(std::string_view round, std::uint32_t code, std::uint32_t own) const;
  /// Rounded as the elements' arithmetic holds it.
  [[nodiscard]] double rounded(double scale) const;

  static std::size_t count(std::size_t elements) {
    return (elements + kernels::sign_block - 1) / kernels::sign_block;
  }
  static int exponent_of(std::uint32_t code) {
    return static_cast<int>(code) - kernels::sign_exponent_offset;
  }

 private:
  ElementType type_;
  const kernels::SignKernels& kernels_;
  std::string_view codec_;
  std::uint32_t ranks_;
  int rank_bits_;
  std::size_t workers_;
  bool of_input_;
  const CallBuffers& call_;
  std::size_t elements_ = 0;
  std::vector<kernels::SignBlock> blocks_;  ///< of the vector
};

}  // namespace cohom
