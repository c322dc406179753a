#pragma once
// DropInCounts: which way the allreduces of a program went, for the summary at its end.

#include "mpi_ext/drop_in/drop_in_rules.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cohom::mpi {

/// Why a call has no sum of the library's.
enum class NotOurs : std::uint8_t {
  rule,       ///< codec=native says so
  scatters,   ///< a reduce_scatter, of which the rule does not speak, or advice is asked for
  no_rule,    ///< none fits
  operation,  ///< no MPI_SUM
  type,       ///< no real floating type that MPI has
  inter,      ///< a communicator between two groups
  alone,      ///< a communicator of one rank
  arguments,  ///< which MPI's rules forbid
  error,      ///< the call ended with one
};
inline constexpr std::size_t reasons_not_ours = 9;

/// Sums that the library does not take.
enum class OtherForm : std::uint8_t { nonblocking, persistent };
inline constexpr std::size_t other_forms = 2;

/// Calls of these, of all threads of this process.
class OtherForms {
 public:
  static void count(OtherForm form) {
    counts_[static_cast<std::size_t>(form)].fetch_add(1, std::memory_order_relaxed);
  }
  /// A line for each that was called, with the end of the one before it.
  [[nodiscard]] static std::string summary();

 private:
  static inline std::array<std::atomic<std::uint64_t>, other_forms> counts_ = {};
};

/// Calls of MPI_Allreduce and MPI_Reduce_scatter_block, of all threads of this process.
class DropInCounts {
 public:
  /// `rules` outlive this.
  explicit DropInCounts(std::span<const DropInRule> rules);

  /// How many of a call's sums went without a rule's codec.
  struct Uncompressed {
    std::uint64_t native = 0;    ///< by MPI's own reduction
    std::uint64_t bypassed = 0;  ///< raw, as compressing would not pay
  };
  /// `rule`: one of the rules, or of a communicator's own keys.
  void count(const DropInRule& rule, std::size_t bytes, const Uncompressed& uncompressed);
  void count(NotOurs reason, std::uint64_t calls = 1) {
    not_ours_[static_cast<std::size_t>(reason)] += calls;
  }

  /// Some calls are of MPI_Reduce_scatter_block.
  void have_scattered() { scattered_ = true; }
  [[nodiscard]] std::uint64_t calls() const;
  /// Several lines without the last one's end.
  [[nodiscard]] std::string summary() const;

 private:
  struct Tally {
    std::atomic<std::uint64_t> calls = 0, bytes = 0, native = 0, bypassed = 0;
  };
  static std::string line(const Tally& tally, const std::string& text);

  std::span<const DropInRule> rules_;
  std::unique_ptr<Tally[]> tallies_;  ///< by rule, and behind them those of communicators' keys
  std::array<std::atomic<std::uint64_t>, reasons_not_ours> not_ours_ = {};
  std::atomic<bool> scattered_ = false;
};

}  // namespace cohom::mpi
