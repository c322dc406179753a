#include "exact_data.hpp"

#include "kernels/exact/exact.hpp"
#include "number_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace cohom::test {
namespace {

using Values = std::vector<std::vector<double>>;  // by rank
using Wide = __int128;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t mini = kernels::exact_mini;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t any() { return engine_(); }
  /// Below a number, which is not 0.
  int below(int number) { return static_cast<int>(engine_() % static_cast<unsigned>(number)); }
  bool one_in(int number) { return below(number) == 0; }
  double sign() { return one_in(2) ? -1 : 1; }
  /// A whole number of exactly so many bits, at most 53.
  std::uint64_t whole(int bits) {
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    return top | (engine_() & (top - 1));
  }
  /// One of these times 2^exponent, of either sign.
  double number(int bits, int exponent) {
    return sign() * std::ldexp(static_cast<double>(whole(bits)), exponent);
  }

 private:
  std::mt19937_64 engine_;
};

/// What is being made: a problem's vectors, zeros at first.
struct Making {
  const ExactProblem& problem;
  NumberFormat format = number_format(problem.type);
  Draw draw = Draw(problem.seed);
  Values values = Values(std::size_t(problem.ranks), std::vector<double>(problem.count));

  [[nodiscard]] std::size_t ranks() const { return values.size(); }
  [[nodiscard]] double largest() const {
    return std::ldexp(std::ldexp(1, format.precision) - 1, format.max_exponent - format.precision);
  }
  [[nodiscard]] double position(int bit) const { return std::ldexp(1, format.min_exponent + bit); }

  /// Calls fill(first element, the element behind, number) for every mini-block.
  template <class Fill>
  void for_each_mini(Fill fill) {
    for (std::size_t first = 0; first < problem.count; first += mini)
      fill(first, std::min(problem.count, first + mini), static_cast<int>(first / mini));
  }
  /// Numbers with bits from position `low` on, `width` of them: no more and, if there are two
  /// elements, no less.
  void fill_window(std::size_t first, std::size_t end, int low, int width) {
    for (auto& vector : values)
      for (std::size_t i = first; i < end; ++i) {
        const int bits = 1 + draw.below(std::min(format.precision, width));
        vector[i] = draw.number(bits, format.min_exponent + low + draw.below(width - bits + 1));
      }
    values[std::size_t(draw.below(problem.ranks))][first] = draw.sign() * position(low + width - 1);
    values[std::size_t(draw.below(problem.ranks))][end - 1] = draw.sign() * position(low);
  }
  void fill_gaussian() {
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      values[rank] = normal_values(problem.count, 100 * problem.seed + rank);
  }
  [[nodiscard]] std::vector<Bytes> bytes() const {
    std::vector<Bytes> all;
    for (const auto& vector : values) all.push_back(to_bytes(problem.type, vector));
    return all;
  }
};

/// What gradients look like: nearly equal exponents in a mini-block, and sums that are rounded.
std::vector<Bytes> gaussian(const ExactProblem& problem) {
  Making making{problem};
  making.fill_gaussian();
  return making.bytes();
}

int bits_of(Wide number) {
  int bits = 0;
  for (Wide rest = number < 0 ? -number : number; rest != 0; rest >>= 1) ++bits;
  return bits;
}

/// One number a rank, with the sum `total` * 2^exponent; with pairs that cancel, and zeros.
std::vector<double> parts_of(Wide total, int exponent, int ranks, int precision, Draw& draw) {
  std::vector<double> parts;
  for (Wide rest = total; rest != 0;) {
    const bool negative = rest < 0;
    const Wide magnitude = negative ? -rest : rest;
    const int shift = std::max(0, bits_of(rest) - precision);
    const Wide top = magnitude >> shift;
    parts.push_back(std::ldexp(static_cast<double>(negative ? -top : top), exponent + shift));
    rest -= (negative ? -top : top) << shift;
  }
  while (parts.size() + 2 <= std::size_t(ranks)) {
    const double pair = draw.number(precision, exponent + draw.below(8));
    parts.push_back(pair);
    parts.push_back(-pair);
  }
  parts.resize(std::size_t(ranks));
  for (std::size_t i = parts.size(); i > 1; --i)
    std::swap(parts[i - 1], parts[std::size_t(draw.below(int(i)))]);
  return parts;
}

/// Half-way between two numbers exactly, and 2^-s of a unit in the last place beside: s up to 60,
/// so that a double, too, has lost it. Of sums and of quotients.
std::vector<Bytes> ties(const ExactProblem& problem) {
  Making making{problem};
  const int precision = making.format.precision, divisor = static_cast<int>(problem.divisor());
  const int tie_bits = precision + 1 + bits_of(divisor);
  const int most = std::min(
      {60, problem.ranks * precision - tie_bits - 1, making.format.positions() - tie_bits - 9});
  making.for_each_mini([&](std::size_t first, std::size_t end, int) {
    const int beside = making.draw.below(std::max(most, 1));
    const int low = making.draw.below(making.format.positions() - tie_bits - beside - 8);
    for (std::size_t i = first; i < end; ++i) {
      const Wide whole = static_cast<Wide>(making.draw.whole(precision));
      Wide total = (divisor * (2 * whole + 1) << beside) + making.draw.below(3) - 1;
      if (problem.ranks == 1) total = whole;
      if (making.draw.one_in(2)) total = -total;
      const auto parts =
          parts_of(total, making.format.min_exponent + low, problem.ranks, precision, making.draw);
      for (std::size_t rank = 0; rank < making.ranks(); ++rank)
        making.values[rank][i] = parts[rank];
    }
  });
  return making.bytes();
}

/// Each mini-block has fields of another width, from one bit to more than the payload takes, each
/// somewhere else in the range of exponents.
std::vector<Bytes> widths(const ExactProblem& problem) {
  Making making{problem};
  const int widest = std::min(making.format.positions(), 110);
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    const int width = 1 + (7 * number + static_cast<int>(problem.seed)) % widest;
    making.fill_window(first, end, making.draw.below(making.format.positions() - width + 1), width);
  });
  return making.bytes();
}

/// Whole groups of the widest fields that the payload takes, then the same with counts of -0, then
/// those a bit too wide: what the capacity of buffers must hold.
std::vector<Bytes> limits(const ExactProblem& problem) {
  Making making{problem};
  const auto ranks = static_cast<unsigned>(problem.ranks);
  const int widest = static_cast<int>(kernels::exact_max_field(problem.type)) - 1 -
                     static_cast<int>(std::bit_width(ranks - 1));
  const int widths[] = {widest, widest - static_cast<int>(std::bit_width(ranks)), widest + 1};
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    const int kind = number / static_cast<int>(kernels::exact_minis) % 3;
    const int width = std::min(making.format.positions(), widths[kind]);
    making.fill_window(first, end, making.draw.below(making.format.positions() - width + 1), width);
    if (kind == 1 && end - first > 2) making.values[0][first + 1] = -0.0;
  });
  return making.bytes();
}

/// Denormals and the least normal numbers. Means of them are ties at the least denormal, or 0, of
/// the sum's sign.
std::vector<Bytes> denormals(const ExactProblem& problem) {
  Making making{problem};
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    for (auto& vector : making.values)
      for (std::size_t i = first; i < end; ++i) {
        const int bits = 1 + making.draw.below(number % 2 == 0 ? 4 : making.format.precision);
        vector[i] = making.draw.number(bits, making.format.min_exponent + making.draw.below(3));
        if (making.draw.one_in(5)) vector[i] = 0;
      }
  });
  return making.bytes();
}

/// Large numbers that cancel and leave a small sum: by a little, by more than a double has, and by
/// as much as 1e30 and 1e-30 are apart.
std::vector<Bytes> cancellation(const ExactProblem& problem) {
  Making making{problem};
  const int positions = making.format.positions(), precision = making.format.precision;
  const double huge = problem.type == ElementType::f16 ? 3e4 : 1e30;
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    const int gaps[] = {3, 20, 50, positions - 2 * precision - 2};
    const int gap = std::min(gaps[number % 4], gaps[3]);
    const int low = making.draw.below(positions - 2 * precision - gap);
    for (std::size_t i = first; i < end; ++i) {
      const int exponent = making.format.min_exponent + low;
      for (auto& vector : making.values) vector[i] = making.draw.number(precision, exponent);
      for (std::size_t rank = 0; rank + 1 < making.ranks(); rank += 3) {
        const double large = making.draw.number(precision, exponent + gap + precision);
        making.values[rank][i] = large;
        making.values[rank + 1][i] = -large;
      }
      if (number % 5 != 4) continue;
      const double all[] = {huge, 1 / huge, -huge, -1 / huge};
      for (std::size_t rank = 0; rank < making.ranks(); ++rank)
        making.values[rank][i] = all[(rank + i) % 4];
    }
  });
  return making.bytes();
}

/// Sums that are too large whose mean is not; and the largest number with half a unit in its last
/// place, which is infinity, or a little less, which is not.
std::vector<Bytes> overflow(const ExactProblem& problem) {
  Making making{problem};
  const double unit = std::ldexp(1, making.format.max_exponent - making.format.precision);
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    for (std::size_t i = first; i < end; ++i) {
      const double sign = making.draw.sign();
      if (number % 3 == 0) {
        for (auto& vector : making.values)
          vector[i] = sign * (making.largest() - making.draw.below(4) * unit);
        continue;
      }
      const double less = number % 3 == 1 ? 0 : std::ldexp(unit, -6);
      making.values[0][i] = sign * making.largest();
      if (problem.ranks > 1) making.values[1][i] = sign * unit / 2;
      if (problem.ranks > 2 && making.draw.one_in(2)) making.values[2][i] = -sign * less;
    }
  });
  return making.bytes();
}

/// The ends of the range, where factors of vectors would be no numbers: one magnitude in each
/// mini-block.
std::vector<Bytes> extremes(const ExactProblem& problem) {
  Making making{problem};
  const int positions = making.format.positions(), precision = making.format.precision;
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    const double magnitudes[] = {making.position(positions - 1),
                                 making.largest(),
                                 making.position(0),
                                 making.position(precision - 1),
                                 making.position(precision - 1) - making.position(0),
                                 making.position(positions - 2),
                                 making.position(making.draw.below(positions)),
                                 1};
    for (auto& vector : making.values)
      for (std::size_t i = first; i < end; ++i)
        vector[i] = making.draw.one_in(4) ? 0 : making.draw.sign() * magnitudes[number % 8];
  });
  return making.bytes();
}

/// They cost the header alone.
std::vector<Bytes> zeros(const ExactProblem& problem) { return Making{problem}.bytes(); }

/// The last groups have no words, so that what reads ahead leaves the payload.
std::vector<Bytes> zeros_behind(const ExactProblem& problem) {
  Making making{problem};
  making.fill_gaussian();
  for (auto& vector : making.values)
    std::fill(vector.begin() + std::ptrdiff_t(problem.count / 2), vector.end(), 0);
  return making.bytes();
}

/// -0 on all ranks, and on all but one, alone and among numbers; elements that no rank calls -0.
std::vector<Bytes> minus_zeros(const ExactProblem& problem) {
  Making making{problem};
  making.fill_gaussian();
  for (std::size_t i = 0; i < problem.count; ++i) {
    const std::size_t region = i / 128 % 6;
    const std::size_t other = region % 2 == 1 ? i % making.ranks() : making.ranks();
    if (region == 5 || ((region == 2 || region == 3) && i % 5 != 0)) continue;
    for (std::size_t rank = 0; rank < making.ranks(); ++rank) {
      double& value = making.values[rank][i];
      if (region == 4 || (rank == other && i % 10 != 0))
        value = 0;
      else if (rank != other)
        value = -0.0;
    }
  }
  return making.bytes();
}

/// It makes its own element NaN, and leaves the other 255 exact.
std::vector<Bytes> one_nan(const ExactProblem& problem) {
  Making making{problem};
  making.fill_gaussian();
  for (std::size_t i = std::min<std::size_t>(37, problem.count - 1); i < problem.count; i += 256)
    making.values[i / 256 % making.ranks()][i] = nan;
  return making.bytes();
}

/// One, one on every rank, and one of either sign; beside them numbers and zeros of both signs.
std::vector<Bytes> infinities(const ExactProblem& problem) {
  Making making{problem};
  making.fill_gaussian();
  const std::size_t last = making.ranks() - 1;
  for (std::size_t i = 0; i < problem.count; ++i) {
    if (i / 256 % 2 == 1) continue;
    switch (i % 40) {
      case 3: making.values[0][i] = infinity; break;
      case 13: making.values[last][i] = -infinity; break;
      case 23:
        making.values[0][i] = infinity;
        making.values[last][i] = -infinity;
        break;
      case 33:
        for (auto& vector : making.values) vector[i] = infinity;
        break;
      case 4:
      case 14:
        for (auto& vector : making.values) vector[i] = -0.0;
        if (i % 40 == 14) making.values[0][i] = 0;
        break;
      default: break;
    }
  }
  return making.bytes();
}

/// In each mini-block but one rank has numbers, so that nobody alone knows the fields' width.
std::vector<Bytes> lonely(const ExactProblem& problem) {
  Making making{problem};
  making.for_each_mini([&](std::size_t first, std::size_t end, int number) {
    const int width = 1 + making.draw.below(std::min(making.format.positions(), 60));
    making.fill_window(first, end, making.draw.below(making.format.positions() - width + 1), width);
    for (std::size_t rank = 0; rank < making.ranks(); ++rank)
      if (rank != std::size_t(number) % making.ranks())
        std::fill(making.values[rank].begin() + std::ptrdiff_t(first),
                  making.values[rank].begin() + std::ptrdiff_t(end), 0);
  });
  return making.bytes();
}

/// Each rank's exponents are its own, so that what is agreed on is no rank's.
std::vector<Bytes> ranks_apart(const ExactProblem& problem) {
  Making making{problem};
  const int precision = making.format.precision;
  const int step = std::min(9, (making.format.positions() - precision) / 5);
  making.for_each_mini([&](std::size_t first, std::size_t end, int) {
    const int low = making.draw.below(making.format.positions() - precision - 4 * step);
    for (std::size_t rank = 0; rank < making.ranks(); ++rank)
      for (std::size_t i = first; i < end; ++i)
        making.values[rank][i] = making.draw.number(
            precision, making.format.min_exponent + low + static_cast<int>(rank % 5) * step);
  });
  return making.bytes();
}

/// Any bits: NaNs of all kinds, infinities, and numbers of the whole range side by side.
std::vector<Bytes> any_bits(const ExactProblem& problem) {
  Draw draw(problem.seed);
  std::vector<Bytes> all(std::size_t(problem.ranks), Bytes(problem.count * size_of(problem.type)));
  for (Bytes& bytes : all)
    for (std::byte& byte : bytes) byte = std::byte(draw.any() & 0xff);
  return all;
}

constexpr ExactData all_data[] = {
    {"gaussian", gaussian},
    {"ties", ties},
    {"widths", widths},
    {"limits", limits},
    {"denormals", denormals},
    {"cancellation", cancellation},
    {"overflow", overflow},
    {"extremes", extremes},
    {"zeros", zeros},
    {"zeros_behind", zeros_behind},
    {"minus_zeros", minus_zeros},
    {"one_nan", one_nan},
    {"infinities", infinities},
    {"lonely", lonely},
    {"ranks_apart", ranks_apart},
    {"any_bits", any_bits},
};

}  // namespace

std::string ExactProblem::name() const {
  return std::string(name_of(type)) + (mean ? " mean" : " sum") + " of " + std::to_string(ranks) +
         ", " + std::to_string(count) + " elements, seed " + std::to_string(seed);
}

std::span<const ExactData> exact_data() { return all_data; }

std::vector<Bytes> random_exact_vectors(const ExactProblem& problem) {
  Making making{problem};
  const int positions = making.format.positions();
  making.for_each_mini([&](std::size_t first, std::size_t end, int) {
    Draw& draw = making.draw;
    const int kind = draw.below(8);
    const int width =
        kind < 2 ? positions : 1 + draw.below(std::min(positions, kind < 7 ? 80 : 120));
    making.fill_window(first, end, draw.below(positions - width + 1), width);
    if (!draw.one_in(32)) return;
    const double specials[] = {0.0, -0.0, infinity, -infinity, nan};
    const int which = draw.below(5);
    for (auto& vector : making.values)
      if (which < 2 || draw.one_in(2))
        vector[first + std::size_t(draw.below(int(end - first)))] = specials[which];
    if (which == 1)
      for (auto& vector : making.values) vector[end - 1] = -0.0;
  });
  return making.bytes();
}

}  // namespace cohom::test
