#pragma once
// How much of a test's product of cases is run. Sanitizers make everything slower, that of threads
// ten to twenty times. Neither races nor wrong addresses care for the number of ranks beyond a few,
// and races not for element types: there, a part stands for the whole.

#include <cohom/element_type.hpp>

#include <cstddef>
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

/// Of nested loops over cases: under a sanitizer every `one_in`th of them runs. That should have no
/// factor in common with the turns of a loop.
class SanitizedShare {
 public:
  explicit SanitizedShare(std::size_t one_in) : one_in_(sanitized ? one_in : 1) {}
  [[nodiscard]] bool skips_this() { return seen_++ % one_in_ != 0; }

 private:
  std::size_t one_in_, seen_ = 0;
};

/// Mixed radix, with nodes, has all that its other names do.
inline bool tests_algorithm(std::string_view name) {
  return name != "grid" && (!sanitized || name != "recursive_halving");
}

}  // namespace cohom::test
