#include "counter_random.hpp"
#include "problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace cohom::bench {
namespace {

constexpr std::size_t pixels = 64;
constexpr std::size_t row_bytes = pixels + 1;  // and the class
constexpr std::size_t features = 1024;
constexpr std::size_t classes = 10;
constexpr std::size_t mini_batch = 32;

enum Stream : std::uint64_t { projections, order, batches };

using Features = std::array<float, features>;

class Digits final : public Problem {
 public:
  explicit Digits(const ProblemOptions& options) : options_(options) {
    read(options.data);
    make_features();
    share();
  }

  [[nodiscard]] std::size_t parameters() const override { return (features + 1) * classes; }
  [[nodiscard]] std::vector<float> start() const override {
    return std::vector<float>(parameters());
  }

  void gradient(std::span<const float> weights, std::uint64_t step,
                std::span<float> gradient) override {
    const CounterRandom random(options_.seed + step, std::uint64_t(options_.rank), batches);
    std::ranges::fill(gradient, 0.0f);
    for (std::size_t k = 0; k < mini_batch; ++k) {
      const std::size_t image = own_[random.bits(k) % own_.size()];
      auto error = probabilities(weights, image);
      error[classes_[image]] -= 1;
      for (std::size_t c = 0; c < classes; ++c) {
        const float by = static_cast<float>(error[c]) / mini_batch;
        float* row = gradient.data() + c * (features + 1);
        for (std::size_t f = 0; f < features; ++f) row[f] += by * features_[image][f];
        row[features] += by;
      }
    }
  }

  [[nodiscard]] double loss(std::span<const float> weights) const override {
    double sum = 0;
    for (std::size_t image = 0; image < classes_.size(); ++image)
      sum -= std::log(std::max(probabilities(weights, image)[classes_[image]], 1e-300));
    return sum / static_cast<double>(classes_.size());
  }

 private:
  void read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file)
      throw std::runtime_error(path + ": cannot be read (--data names the file of digits)");
    const auto wrong = [&](const std::string& why) {
      return std::runtime_error(path + ": is no file of digits: " + why);
    };
    if (bytes.size() % row_bytes != 0)
      throw wrong(std::to_string(bytes.size()) + " bytes, not a multiple of 65");
    if (bytes.size() / row_bytes < std::size_t(options_.ranks))
      throw wrong(std::to_string(bytes.size() / row_bytes) + " images for " +
                  std::to_string(options_.ranks) + " ranks");
    for (std::size_t row = 0; row < bytes.size(); row += row_bytes) {
      auto& image = images_.emplace_back();
      for (std::size_t p = 0; p < pixels; ++p) image[p] = static_cast<float>(bytes[row + p]) / 16;
      classes_.push_back(bytes[row + pixels]);
      if (classes_.back() >= classes)
        throw wrong("image " + std::to_string(row / row_bytes) + " is of class " +
                    std::to_string(classes_.back()) + ", not one of 10");
    }
  }

  /// Random projections, cut off at zero (Rahimi and Recht, Random Features, NIPS'07).
  void make_features() {
    const CounterRandom random(options_.seed, 0, projections);
    std::vector<float> projection(features * pixels);
    for (std::size_t i = 0; i < projection.size(); ++i)
      projection[i] = static_cast<float>(random.normal(i)) / 8;
    for (const auto& image : images_) {
      auto& row = features_.emplace_back();
      for (std::size_t f = 0; f < features; ++f) {
        float sum = 0;
        for (std::size_t p = 0; p < pixels; ++p) sum += projection[f * pixels + p] * image[p];
        row[f] = std::max(sum, 0.0f);
      }
    }
  }

  void share() {
    auto all = CounterRandom(options_.seed, 0, order).permutation(classes_.size());
    if (options_.heterogeneous)
      std::ranges::stable_sort(all, {}, [&](std::uint32_t image) { return classes_[image]; });
    const auto ranks = static_cast<std::size_t>(options_.ranks);
    const auto rank = static_cast<std::size_t>(options_.rank);
    own_.assign(all.begin() + std::ptrdiff_t(all.size() * rank / ranks),
                all.begin() + std::ptrdiff_t(all.size() * (rank + 1) / ranks));
  }

  [[nodiscard]] std::array<double, classes> probabilities(std::span<const float> weights,
                                                          std::size_t image) const {
    std::array<double, classes> values;
    for (std::size_t c = 0; c < classes; ++c) {
      const float* row = weights.data() + c * (features + 1);
      std::array<float, 16> sums{};  // so that the compiler may use vectors
      for (std::size_t f = 0; f < features; f += 16)
        for (std::size_t l = 0; l < 16; ++l) sums[l] += row[f + l] * features_[image][f + l];
      values[c] = row[features];
      for (const float sum : sums) values[c] += sum;
    }
    const double largest = std::ranges::max(values);
    double sum = 0;
    for (double& value : values) sum += value = std::exp(value - largest);
    for (double& value : values) value /= sum;
    return values;
  }

  ProblemOptions options_;
  std::vector<std::array<float, pixels>> images_;
  std::vector<Features> features_;
  std::vector<std::size_t> classes_;
  std::vector<std::uint32_t> own_;  ///< this rank's images
};

}  // namespace

std::unique_ptr<Problem> make_digits(const ProblemOptions& options) {
  return std::make_unique<Digits>(options);
}

}  // namespace cohom::bench
