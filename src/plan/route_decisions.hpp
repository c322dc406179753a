#pragma once
// RouteDecisions: which way calls of a kind went in the end, in a file that later runs read, so
// that they go the same way from their first call on, and have the same bits in each run.

#include "plan/plan_shape.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/element_type.hpp>
#include <cohom/reduction_kind.hpp>

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cohom {

/// Calls of one kind.
struct CallKind {
  int ranks = 0;
  std::string codec;  ///< as asked for
  ElementType type = ElementType::f32;
  int size = 0;  ///< size_class() of the vector, with all its parts
  ReductionKind collective = ReductionKind::allreduce;
  // It takes the 0 of a comparison for a null pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const CallKind&, const CallKind&) = default;
};

/// Of calls by the codec that was asked for.
CallKind kind_of(const PlanShape& shape, int ranks, const std::string& codec);

/// Two classes for each power of two, which is the longest vector of one, as of rows of the
/// selection table: that a class has one row.
int size_class(std::size_t bytes);
/// The longest vector of a class.
std::size_t most_bytes(int size_class);

/// What a decision says of a way that is neither native nor the calls' own: "ring", or "raw:ring"
/// where the vector goes raw though a codec was asked for.
struct NamedWay {
  const AlgorithmRow* algorithm = nullptr;
  bool raw = false;
};
std::string word_for(std::string_view algorithm, bool raw);
/// None: it names no algorithm of the ranks.
std::optional<NamedWay> named_way(std::string_view word);

/// COHOM_DECISIONS of a run that is to write what it decides, "write:FILE": that file; of any other
/// text: none.
std::optional<std::string> decisions_to_write(std::string_view text);

class RouteDecisions {
 public:
  /// What a line says of the first two ways; of another one it has word_for() it.
  static constexpr std::string_view native = "native", own = "own";

  /// Of a file's content. Codecs may be written as in an option.
  /// @throws Error(invalid_argument) that names `path`, the line and what would be right
  static RouteDecisions parse(std::string_view content, const std::string& path);
  /// @throws Error(invalid_argument) as parse() does, and where the file cannot be read
  static RouteDecisions read(const std::string& path);

  /// The same of a file that is to be written: none, or an empty one, has no decisions.
  static RouteDecisions read_if_any(const std::string& path);

  void set(const CallKind& kind, std::string_view way) { ways_[kind] = way; }
  [[nodiscard]] std::optional<std::string> find(const CallKind& kind) const;
  [[nodiscard]] bool empty() const { return ways_.empty(); }

  /// What parse() takes.
  [[nodiscard]] std::string content() const;
  /// Where both have a kind, `others` counts.
  void add(const RouteDecisions& others);
  /// Adds these to what the file has, if there is one; a reader never meets a part of it. Links are
  /// followed. @throws Error(invalid_argument) where it is no file of decisions, no regular file,
  /// or cannot be written
  void add_to(const std::string& path) const;
  /// Throws what add_to() would, as far as can be seen without writing it.
  static void check_writable(const std::string& path);

 private:
  std::map<CallKind, std::string> ways_;
};

}  // namespace cohom
