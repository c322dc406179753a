#pragma once
// Advice: what a program would gain, and with which error. Its calls stay MPI's; a few of them are
// made once more by each codec, on copies of the program's own vectors.

#include "mpi_ext/drop_in/drop_in_call.hpp"

#include <cohom/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::mpi {

class Advice {
 public:
  /// Codecs with `;` between them. @throws Error(invalid_argument) where there is none
  explicit Advice(const std::string& codecs);

  /// Makes the call. `turn`: how many of its type and length the communicator had before: alike on
  /// its ranks, which choose by it the calls that codecs make, too. Collective. @returns MPI's
  /// error code @throws Error(transport) of a codec's call
  int make(const DropInCall& call, ElementType type, int ranks, std::uint64_t turn);

  /// Several lines: by call site and length the time that calls took, and what codecs would have
  /// taken; and rules by which the program gains.
  [[nodiscard]] std::string report() const;

 private:
  /// By a codec.
  struct Trial {
    double seconds = 0;        ///< of all samples that it made
    double error = 0;          ///< the greatest vNMSE
    std::string refusal = {};  ///< why it made none
  };
  struct Entry {
    std::uint64_t calls = 0;
    double seconds = 0;
    std::uint64_t samples = 0;
    double native_seconds = 0;  ///< of the samples
    std::vector<Trial> trials = {};
  };
  /// A call site, type, elements and ranks.
  using Key = std::tuple<const void*, ElementType, std::size_t, int>;
  /// Copies that a sample works on.
  struct Copies {
    std::vector<std::byte> input, sum, output;
  };

  /// Whether all ranks can make a sample of the call: their vectors are the host's, and they have
  /// the memory. Then with the copies. Collective.
  bool prepare(const DropInCall& call, ElementType type, Copies& copies) const;
  [[nodiscard]] Entry sample(const DropInCall& call, ElementType type, Copies& copies) const;
  [[nodiscard]] Trial try_codec(const DropInCall& call, ElementType type, Copies& copies,
                                const std::string& codec) const;
  void add(const Key& key, double seconds, const Entry& sample);
  [[nodiscard]] std::string text_of(const Key& key, const Entry& entry) const;
  [[nodiscard]] std::string rule(bool lossless) const;
  [[nodiscard]] double saved_by(std::size_t codec, std::size_t least_bytes) const;

  std::vector<std::string> codecs_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  ///< threads have calls on communicators of their own
  std::map<Key, Entry> entries_;
};

}  // namespace cohom::mpi
