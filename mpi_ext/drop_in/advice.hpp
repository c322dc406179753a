#pragma once
// Advice: what a program would gain, and with which error. Its calls stay MPI's; a few of them are
// made once more by each codec, on copies of the program's own vectors.

#include "mpi_ext/drop_in/advice_findings.hpp"
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

  [[nodiscard]] AdviceFindings findings() const;

 private:
  /// A call site, type, elements and ranks.
  using Key = std::tuple<const void*, ElementType, std::size_t, int>;
  /// Copies that a sample works on.
  struct Copies {
    std::vector<std::byte> input, sum, output;
  };

  /// Whether all ranks can make a sample of the call: their vectors are the host's, and they have
  /// the memory. Then with the copies. Collective.
  bool prepare(const DropInCall& call, ElementType type, Copies& copies) const;
  [[nodiscard]] AdvisedCalls sample(const DropInCall& call, ElementType type, Copies& copies) const;
  [[nodiscard]] AdviceTrial try_codec(const DropInCall& call, ElementType type, Copies& copies,
                                      const std::string& codec) const;
  void add(const Key& key, double seconds, const AdvisedCalls& sample);

  std::vector<std::string> codecs_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  ///< threads have calls on communicators of their own
  std::map<Key, AdvisedCalls> entries_;
};

}  // namespace cohom::mpi
