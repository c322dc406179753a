#pragma once
// Inputs: the vectors that are reduced. Each element is a pure function of (input, seed, rank,
// position), so every rank makes its own and any run of the same command sees the same data.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cohom::bench {

/// The vector of one rank, of any length.
class Input {
 public:
  virtual ~Input() = default;

  /// Says how many elements the vector has, where its shape depends on that. Before `generate`.
  virtual void set_length(std::size_t /*count*/) {}

  /// Writes elements first ... first + out.size() - 1.
  virtual void generate(std::size_t first, std::span<double> out) = 0;

  /// Elements that come before any repetition. Longer vectors are *extended*.
  [[nodiscard]] virtual std::size_t elements() const { return static_cast<std::size_t>(-1); }

  /// Different vectors there are, over all ranks; 0: one for each rank.
  [[nodiscard]] virtual std::size_t rows() const { return 0; }
};

/// What `--input` takes besides files, for messages.
inline constexpr std::string_view input_kinds =
    "gauss, lognormal, mixture, smooth, field, sparse:DENSITY[:blocks|:same], wide:BINADES";

/// Makes the vector of `rank`. `spec` is one of
///   gauss           N(0, 1), independent
///   lognormal       exp(N(0, 1)) with random sign, independent
///   mixture         Gaussian; the standard deviation, exp(2 N(0, 1)), is drawn anew for every 256
///                   elements and is the same on all ranks: skew between blocks, as in gradients
///   smooth          a sum of four sine waves of 500 to 9000 elements, phases differing by rank
///   field           a periodic 3-D field, as simulations have: 24 plane waves with 1 to 8 periods,
///                   amplitude 1/periods^2, directions alike and phases differing by rank, and
///                   noise of 1e-5 N(0, 1). Row-major (z fastest) over the smallest cube that holds
///                   the vector; the cube's end is cut off
///   sparse:DENSITY  N(0, 1) where a coin of probability DENSITY says so, else 0; 0 < DENSITY <= 1;
///                   :blocks has one coin for 1024 elements, :same the same coins on all ranks
///   wide:BINADES    N(0, 1) times 2^k, k drawn from -BINADES/2 ... BINADES/2 for each element; 1
///   to
///                   2000. Where the element type has not so many, elements are 0 or infinite
///   a file          .npy or .npz, [ranks, d]; rank r takes row r mod rows
/// A vector shorter than a file's row is its beginning. A longer one goes on with copies of the row
/// whose blocks of 256 elements are in a random order, each block with a random sign: what is
/// alike inside a block stays so. Order and signs depend on (seed, copy) alone, so the ranks stay
/// correlated as they are in the file. The ragged block at the end of a row stays at the end.
/// @throws InputError
std::unique_ptr<Input> make_input(const std::string& spec, std::uint64_t seed, int rank);

}  // namespace cohom::bench
