#pragma once
// DropInRules: which allreduces of a program that knows nothing of cohom are compressed, and how.

#include <cohom/element_type.hpp>
#include <cohom/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::mpi {

/// Numbers from `first` on, below `end`.
struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] bool contains(std::uint64_t number) const {
    return number >= first && number < end;
  }
};

struct DropInRule {
  std::string text;       ///< as it was given
  bool native = false;    ///< calls stay MPI's
  bool scatters = false;  ///< it is of MPI_Reduce_scatter_block, too
  Options options = {};
  NumberRange bytes = {};  ///< of the vector
  NumberRange ranks = {};  ///< of the communicator
  std::optional<ElementType> type = {};

  [[nodiscard]] bool fits(std::size_t call_bytes, int call_ranks, ElementType call_type) const {
    return bytes.contains(call_bytes) && ranks.contains(static_cast<std::uint64_t>(call_ranks)) &&
           (!type || *type == call_type);
  }
};

/// Words key=value: `codec` (a spec, or native), the conditions `bytes=FROM:TO`, `ranks=FROM:TO`
/// and `type=f32` or `f64`, `reduce_scatter_block=yes`, and further options by their Info keys
/// without cohom_.
/// @throws Error(invalid_argument) naming the word and what would be right
DropInRule parse_drop_in_rule(std::string_view text);

/// The first that fits decides.
class DropInRules {
 public:
  DropInRules() = default;
  /// Rules with a semicolon or the end of a line between them; a # and what follows it in a line
  /// say nothing. @throws Error(invalid_argument)
  explicit DropInRules(std::string_view text);
  /// What COHOM_DROP_IN says: rules, or @FILE. None where it is not set.
  /// @throws Error(invalid_argument), also for a file that cannot be read
  static DropInRules of_environment();

  [[nodiscard]] const DropInRule* find(std::size_t bytes, int ranks, ElementType type) const;
  [[nodiscard]] std::span<const DropInRule> all() const { return rules_; }
  [[nodiscard]] bool empty() const { return rules_.empty(); }
  /// Of all texts.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  std::vector<DropInRule> rules_;
};

}  // namespace cohom::mpi
