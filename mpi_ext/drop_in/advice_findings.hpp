#pragma once
// AdviceFindings: what was found out about a program's allreduces, and how it is told.

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohom::mpi {

/// Sums of samples by a codec.
struct AdviceTrial {
  double seconds = 0;        ///< of all samples that it made
  double error = 0;          ///< the greatest vNMSE; infinite where numbers are not finite
  std::string refusal = {};  ///< why it made none
};

/// Calls from one place with vectors of one type and length.
struct AdvisedCalls {
  const void* site = nullptr;
  ElementType type = ElementType::f32;
  std::size_t elements = 0;
  int ranks = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
  std::uint64_t samples = 0;
  double native_seconds = 0;             ///< of the samples
  std::vector<AdviceTrial> trials = {};  ///< by codec, where there are samples

  [[nodiscard]] std::size_t bytes() const { return elements * size_of(type); }
  /// Times native's speed; 0: the codec made none.
  [[nodiscard]] double gain(std::size_t codec) const;
};

/// A rule by which the program gains.
struct AdvisedRule {
  std::string codec;
  std::size_t least_bytes, most_bytes;
  double saved_seconds;

  /// For cohom-exec.
  [[nodiscard]] std::string text() const;
};

struct AdviceFindings {
  std::vector<std::string> codecs;
  std::vector<AdvisedCalls> calls;  ///< those that took most time first
  double run_seconds = 0;           ///< of the program

  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::uint64_t count() const;
  /// The codec that saves most, and the length from which on it does; none: not worth it.
  [[nodiscard]] std::optional<AdvisedRule> rule(bool lossless) const;

  /// Several lines without the last one's end: by call site and length the time that calls took,
  /// and what codecs would have taken; and rules.
  [[nodiscard]] std::string text() const;
  /// Schema cohom-advice/1 (docs/drop-in.md).
  [[nodiscard]] std::string json() const;
  /// A file of rules for cohom-exec: the one without loss, and the other as a comment.
  [[nodiscard]] std::string rules() const;

 private:
  [[nodiscard]] double saved_by(std::size_t codec, std::size_t least_bytes) const;
};

}  // namespace cohom::mpi
