#pragma once
// CallDifferences: which ranks are about to make another call than the rest, and in what. Rank 0
// finds it out from the records of all ranks once they know that their signatures differ.

#include "agreement/call_signature.hpp"

#include <cohom/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// The fields of a signature as bytes: how many they are (64 bits), their values, and the texts of
/// all fields, each ending with a zero byte; cut where they do not fit (docs/wire-format.md).
void write_record(const CallSignature& signature, std::span<std::byte> record);

class CallDifferences {
 public:
  /// Ranks that are named, with their values, for each field that differs.
  static constexpr std::size_t named_ranks = 4;

  /// `own`: the signature of rank 0.
  explicit CallDifferences(const CallSignature& own);

  /// Ranks in ascending order, from 1 on. @throws Error(transport) for bytes that are no record.
  void add(int rank, std::span<const std::byte> record);
  /// "ranks disagree on count (rank 2: 999; the other 2: 1000)", of all that were added.
  [[nodiscard]] Error error() const;

 private:
  /// The ranks that agree on a field.
  struct Group {
    std::uint64_t value = 0;
    std::string text;
    std::size_t count = 0;
    std::vector<int> first;  ///< the lowest of them
  };
  /// More values are counted, and not told apart.
  static constexpr std::size_t max_groups = 8;
  struct Field {
    std::vector<Group> groups;
    std::size_t others = 0;  ///< ranks with yet other values
  };

  void add(std::size_t field, int rank, std::uint64_t value, std::string text);
  [[nodiscard]] std::string describe(std::size_t field) const;

  CallSignature own_;
  std::array<Field, CallSignature::field_limit> fields_;
};

/// What ranks were given before they made any call. `by_rank`: what each has, alike on all ranks.
/// Local. @throws Error(mismatch) that names who differs, as CallDifferences does
void expect_same(std::string_view name, std::span<const std::string> by_rank);

}  // namespace cohom
