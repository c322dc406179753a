#pragma once
// How much of a test's product of cases is run: a part, which scripts/long-check cases completes.
// Sanitizers make everything slower, that of threads ten to twenty times. Neither races nor wrong
// addresses care for the number of ranks beyond a few, and races not for element types: there, a
// part stands for the whole.

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace cohom::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool races_only = true;
inline std::vector<int> tested_ranks() { return {2, 5}; }
inline std::vector<ElementType> tested_types() { return {ElementType::f32, ElementType::f16}; }
#else
inline constexpr bool races_only = false;
#if defined(__SANITIZE_ADDRESS__)
inline std::vector<int> tested_ranks() { return {1, 2, 3, 6}; }
#else
inline std::vector<int> tested_ranks() { return {1, 2, 3, 4, 7, 16}; }
#endif
inline std::vector<ElementType> tested_types() {
  return {std::begin(all_element_types), std::end(all_element_types)};
}
#endif

/// scripts/long-check cases: tests leave out nothing that the shares below would.
inline bool takes_all_cases() { return std::getenv("COHOM_TEST_ALL_CASES") != nullptr; }

/// Whether everything takes many times as long: under a sanitizer, or where device code is
/// interpreted.
inline bool is_slow() { return sanitized || std::getenv("COHOM_TEST_SLOW") != nullptr; }

/// Of nested loops over cases: every `one_in`th runs, or every `slow_one_in`th where all is slow.
/// These should have no factor in common with the turns of a loop.
class CaseShare {
 public:
  CaseShare(std::size_t one_in, std::size_t slow_one_in)
      : one_in_(takes_all_cases() ? 1
                : is_slow()       ? slow_one_in
                                  : one_in) {}
  [[nodiscard]] bool skips_this() { return seen_++ % one_in_ != 0; }

 private:
  std::size_t one_in_, seen_ = 0;
};

/// Of a product of three or more factors: every `one_in`th case, so chosen that each pair of values
/// of any two factors occurs, where all factors have at least `one_in` values.
class PairShare {
 public:
  explicit PairShare(std::size_t one_in) : one_in_(takes_all_cases() ? 1 : one_in) {}
  /// `indices`: of the case's values in their factors.
  template <class... Indices>
  [[nodiscard]] bool has(Indices... indices) const {
    return (std::size_t(indices) + ...) % one_in_ == 0;
  }

 private:
  std::size_t one_in_;
};

/// Mixed radix, with nodes, has all that its other names do.
inline bool tests_algorithm(std::string_view name) {
  return name != "grid" && (!sanitized || name != "recursive_halving");
}

}  // namespace cohom::test
