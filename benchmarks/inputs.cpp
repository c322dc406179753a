#include "inputs.hpp"

#include "counter_random.hpp"
#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <optional>
#include <vector>

namespace cohom::bench {
namespace {

constexpr std::size_t block = 256;
// Draws that all ranks share are made as if by this rank.
constexpr std::uint64_t shared = ~std::uint64_t{0};
enum Stream : std::uint64_t { values, signs, scales, coins, phases, order, directions };

class Gauss : public Input {
 public:
  Gauss(std::uint64_t seed, int rank) : random_(seed, static_cast<std::uint64_t>(rank), values) {}

  void generate(std::size_t first, std::span<double> out) override {
    std::size_t i = 0;
    if (first % 2 == 1 && !out.empty()) out[i++] = random_.normal(first);
    for (; i + 2 <= out.size(); i += 2)
      std::tie(out[i], out[i + 1]) = random_.normal_pair((first + i) / 2);
    if (i < out.size()) out[i] = random_.normal(first + i);
  }

 private:
  CounterRandom random_;
};

class Lognormal : public Gauss {
 public:
  Lognormal(std::uint64_t seed, int rank)
      : Gauss(seed, rank), signs_(seed, static_cast<std::uint64_t>(rank), signs) {}

  void generate(std::size_t first, std::span<double> out) override {
    Gauss::generate(first, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool negative = signs_.bits(first + i) >> 63 != 0;
      out[i] = negative ? -std::exp(out[i]) : std::exp(out[i]);
    }
  }

 private:
  CounterRandom signs_;
};

class Mixture : public Gauss {
 public:
  Mixture(std::uint64_t seed, int rank) : Gauss(seed, rank), scales_(seed, shared, scales) {}

  void generate(std::size_t first, std::span<double> out) override {
    Gauss::generate(first, out);
    double scale = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i == 0 || (first + i) % block == 0)
        scale = std::exp(2 * scales_.normal((first + i) / block));
      out[i] *= scale;
    }
  }

 private:
  CounterRandom scales_;
};

class Smooth : public Input {
 public:
  Smooth(std::uint64_t seed, int rank) {
    const CounterRandom random(seed, static_cast<std::uint64_t>(rank), phases);
    for (std::size_t w = 0; w < waves.size(); ++w) phase_[w] = random.uniform(w);
  }

  void generate(std::size_t first, std::span<double> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = 0;
      for (std::size_t w = 0; w < waves.size(); ++w) {
        const double turns = static_cast<double>((first + i) % waves[w].length) /
                                 static_cast<double>(waves[w].length) +
                             phase_[w];
        out[i] += waves[w].amplitude * std::sin(2 * std::numbers::pi * turns);
      }
    }
  }

 private:
  struct Wave {
    std::size_t length;
    double amplitude;
  };
  // Lengths without common factors: the sum does not repeat within any vector of use.
  static constexpr std::array<Wave, 4> waves = {
      {{9001, 1.0}, {3307, 0.5}, {1201, 0.25}, {503, 0.1}}};
  std::array<double, 4> phase_{};
};

class Field final : public Input {
 public:
  Field(std::uint64_t seed, int rank)
      : noise_(seed, static_cast<std::uint64_t>(rank), values),
        phases_(seed, static_cast<std::uint64_t>(rank), phases),
        directions_(seed, shared, directions) {
    set_length(1);
  }

  void set_length(std::size_t count) override {
    side_ = 1;
    while (side_ * side_ * side_ < count) ++side_;
    for (std::size_t m = 0; m < modes_.size(); ++m) modes_[m] = make_mode(m);
  }

  void generate(std::size_t first, std::span<double> out) override {
    for (std::size_t i = 0; i < out.size();) {
      const std::size_t row = (first + i) / side_, z = (first + i) % side_;
      const std::size_t count = std::min(side_ - z, out.size() - i);
      write_row(row, z, out.subspan(i, count));
      for (std::size_t k = i; k < i + count; ++k)
        out[k] += noise_amplitude * noise_.normal(first + k);
      i += count;
    }
  }

 private:
  struct Mode {
    double amplitude, phase;             ///< of a sine; phase in turns
    double x, y;                         ///< turns a grid point
    std::vector<double> sines, cosines;  ///< along z
  };
  static constexpr std::size_t wave_numbers = 8, modes_of_each = 3;
  static constexpr double noise_amplitude = 1e-5;

  /// A mode's direction is one of the sphere; its whole waves along x, y and z are rounded from it.
  [[nodiscard]] Mode make_mode(std::size_t m) const {
    const std::size_t periods = 1 + m / modes_of_each;
    const auto wave_number = static_cast<double>(periods);
    const double height = 2 * directions_.uniform(2 * m) - 1;
    const double width = std::sqrt(1 - height * height);
    const double angle = 2 * std::numbers::pi * directions_.uniform(2 * m + 1);
    const auto side = static_cast<double>(side_);
    const double waves_along_z = std::round(wave_number * height);
    Mode mode{.amplitude = 1 / (wave_number * wave_number),
              .phase = phases_.uniform(m),
              .x = std::round(wave_number * width * std::cos(angle)) / side,
              .y = std::round(wave_number * width * std::sin(angle)) / side,
              .sines = std::vector<double>(side_),
              .cosines = std::vector<double>(side_)};
    for (std::size_t z = 0; z < side_; ++z) {
      const double turns = waves_along_z * static_cast<double>(z) / side;
      mode.sines[z] = std::sin(2 * std::numbers::pi * turns);
      mode.cosines[z] = std::cos(2 * std::numbers::pi * turns);
    }
    return mode;
  }

  /// Overwrites `out` with the modes at the points z, z + 1, ... of a row along z.
  void write_row(std::size_t row, std::size_t z, std::span<double> out) const {
    const std::size_t plane = row / side_, line = row % side_;
    const auto x = static_cast<double>(plane), y = static_cast<double>(line);
    std::ranges::fill(out, 0.0);
    for (const Mode& mode : modes_) {
      const double angle = 2 * std::numbers::pi * (mode.x * x + mode.y * y + mode.phase);
      const double sine = mode.amplitude * std::sin(angle);
      const double cosine = mode.amplitude * std::cos(angle);
      for (std::size_t k = 0; k < out.size(); ++k)
        out[k] += sine * mode.cosines[z + k] + cosine * mode.sines[z + k];
    }
  }

  CounterRandom noise_, phases_, directions_;
  std::size_t side_ = 1;
  std::array<Mode, wave_numbers * modes_of_each> modes_;
};

/// How the elements that are not zero lie.
struct Support {
  double density = 1;
  std::size_t run = 1;  ///< elements that share a coin
  bool same = false;    ///< on all ranks
};

class Sparse : public Gauss {
 public:
  Sparse(std::uint64_t seed, int rank, const Support& support)
      : Gauss(seed, rank),
        support_(support),
        coins_(seed, support.same ? shared : static_cast<std::uint64_t>(rank), coins) {}

  void generate(std::size_t first, std::span<double> out) override {
    Gauss::generate(first, out);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (coins_.uniform((first + i) / support_.run) > support_.density) out[i] = 0;
  }

 private:
  Support support_;
  CounterRandom coins_;
};

class File : public Input {
 public:
  File(const std::filesystem::path& path, std::uint64_t seed, int rank) : seed_(seed) {
    const NpyArray array = read_array(path);
    rows_ = array.rows;
    row_ = array.row(static_cast<std::size_t>(rank) % rows_);
  }

  void generate(std::size_t first, std::span<double> out) override {
    for (std::size_t i = 0; i < out.size();) {
      const std::size_t copy = (first + i) / row_.size();
      const std::size_t begin = (first + i) % row_.size();
      const std::size_t whole = row_.size() / block * block;  // the ragged block stays where it is
      const std::size_t end =
          std::min({row_.size(), begin / block * block + block, begin + (out.size() - i)});
      const bool permuted = copy != 0 && begin < whole;
      const std::size_t source =
          permuted ? source_block(copy, begin / block) * block + begin % block : begin;
      const double sign = copy == 0 ? 1.0 : sign_of(copy, begin / block);
      for (std::size_t k = 0; k < end - begin; ++k) out[i + k] = sign * row_[source + k];
      i += end - begin;
    }
  }

  [[nodiscard]] std::size_t elements() const override { return row_.size(); }
  [[nodiscard]] std::size_t rows() const override { return rows_; }

 private:
  /// The order is kept for one copy at a time: vectors are made from front to back.
  std::size_t source_block(std::size_t copy, std::size_t target) {
    if (copy != ordered_copy_) {
      order_ = CounterRandom(seed_ + copy, shared, order).permutation(row_.size() / block);
      ordered_copy_ = copy;
    }
    return order_[target];
  }

  [[nodiscard]] double sign_of(std::size_t copy, std::size_t target) const {
    return CounterRandom(seed_ + copy, shared, signs).bits(target) >> 63 != 0 ? -1.0 : 1.0;
  }

  std::uint64_t seed_;
  std::size_t rows_ = 0;
  std::vector<double> row_;
  std::size_t ordered_copy_ = 0;
  std::vector<std::uint32_t> order_;
};

class Wide : public Gauss {
 public:
  Wide(std::uint64_t seed, int rank, int binades)
      : Gauss(seed, rank),
        half_(binades / 2),
        scales_(seed, static_cast<std::uint64_t>(rank), scales) {}

  void generate(std::size_t first, std::span<double> out) override {
    Gauss::generate(first, out);
    const std::uint64_t powers = 2 * static_cast<std::uint64_t>(half_) + 1;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::ldexp(out[i], static_cast<int>(scales_.bits(first + i) % powers) - half_);
  }

 private:
  int half_;  ///< of the powers of two, -half_ ... half_
  CounterRandom scales_;
};

std::unique_ptr<Input> make_wide(std::string_view text, const std::string& spec, std::uint64_t seed,
                                 int rank) {
  constexpr int max_binades = 2000;
  int binades = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, binades);
  if (error != std::errc{} || next != end || binades < 1 || binades > max_binades)
    throw InputError(
        fmt::format("input '{}': the binades must be a whole number from 1 to {}, "
                    "e.g. wide:40",
                    spec, max_binades));
  return std::make_unique<Wide>(seed, rank, binades);
}

std::unique_ptr<Input> make_sparse(std::string_view text, const std::string& spec,
                                   std::uint64_t seed, int rank) {
  Support support;
  const std::string_view density = text.substr(0, text.find(':'));
  const std::string_view shape = text.substr(density.size());
  const char* const end = density.data() + density.size();
  const auto [next, error] = std::from_chars(density.data(), end, support.density);
  if (error != std::errc{} || next != end || !(support.density > 0 && support.density <= 1))
    throw InputError(
        fmt::format("input '{}': the density must be a number above 0 and at most 1, "
                    "e.g. sparse:0.01",
                    spec));
  support.run = shape == ":blocks" ? 1024 : 1;
  support.same = shape == ":same";
  if (!shape.empty() && support.run == 1 && !support.same)
    throw InputError(
        fmt::format("input '{}': behind the density can be :blocks or :same only", spec));
  return std::make_unique<Sparse>(seed, rank, support);
}

bool looks_like_a_file(const std::string& spec) {
  std::error_code error;
  const std::filesystem::path path(spec);
  return spec.find('/') != std::string::npos || path.extension() == ".npy" ||
         path.extension() == ".npz" || std::filesystem::exists(path, error);
}

}  // namespace

std::unique_ptr<Input> make_input(const std::string& spec, std::uint64_t seed, int rank) {
  if (spec == "gauss") return std::make_unique<Gauss>(seed, rank);
  if (spec == "lognormal") return std::make_unique<Lognormal>(seed, rank);
  if (spec == "mixture") return std::make_unique<Mixture>(seed, rank);
  if (spec == "smooth") return std::make_unique<Smooth>(seed, rank);
  if (spec == "field") return std::make_unique<Field>(seed, rank);
  constexpr std::string_view sparse = "sparse:";
  if (spec.starts_with(sparse))
    return make_sparse(std::string_view(spec).substr(sparse.size()), spec, seed, rank);
  constexpr std::string_view wide = "wide:";
  if (spec.starts_with(wide))
    return make_wide(std::string_view(spec).substr(wide.size()), spec, seed, rank);
  if (!looks_like_a_file(spec))
    throw InputError(fmt::format(
        "unknown input '{}': it should be one of {}, or a .npy or .npz file", spec, input_kinds));
  return std::make_unique<File>(spec, seed, rank);
}

}  // namespace cohom::bench
