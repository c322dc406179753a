// setp, set, selp, slct, testp.

#include "find_handler.hpp"
#include "slots.hpp"
#include "types.hpp"

#include <cmath>
#include <map>
#include <string_view>

namespace cohom::ptx {
namespace {

enum class Relation : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  ordered,
  unordered
};
/// What a comparison's result is combined with a predicate by.
enum class Combination : std::uint8_t { none, conjunction, disjunction, exclusive };

/// As a byte: the relation, whether NaNs make it true, the combination.
struct Comparison {
  Relation relation;
  bool true_of_nan;
  Combination combination = Combination::none;

  [[nodiscard]] std::uint8_t packed() const {
    return static_cast<std::uint8_t>(static_cast<unsigned>(relation) | unsigned{true_of_nan} << 3 |
                                     static_cast<unsigned>(combination) << 4);
  }
  static Comparison of(const Instruction& instruction) {
    return {static_cast<Relation>(instruction.variant & 7), (instruction.variant & 8) != 0,
            static_cast<Combination>(instruction.variant >> 4)};
  }
};

template <class T>
bool holds(Comparison comparison, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool has_nan = std::isnan(a) || std::isnan(b);
    if (comparison.relation == Relation::ordered) return !has_nan;
    if (comparison.relation == Relation::unordered) return has_nan;
    if (has_nan) return comparison.true_of_nan;
  }
  switch (comparison.relation) {
    case Relation::equal: return a == b;
    case Relation::not_equal: return a != b;
    case Relation::less: return a < b;
    case Relation::less_equal: return a <= b;
    case Relation::greater: return a > b;
    case Relation::greater_equal: return a >= b;
    default: return false;
  }
}

bool combined(Combination combination, bool a, bool b) {
  switch (combination) {
    case Combination::conjunction: return a && b;
    case Combination::disjunction: return a || b;
    case Combination::exclusive: return a != b;
    default: return a;
  }
}

/// A second destination takes what the inverse of the comparison gives.
template <class T>
void set_predicate(Thread& thread, const Instruction& i) {
  const Comparison comparison = Comparison::of(i);
  const bool result = holds(comparison, get<T>(thread, i.from[0]), get<T>(thread, i.from[1]));
  const bool other = comparison.combination != Combination::none &&
                     get_predicate(thread, i.from[2]) != i.second_inverted;
  put_predicate(thread, i.to[0], combined(comparison.combination, result, other));
  put_predicate(thread, i.to[1], combined(comparison.combination, !result, other));
}

/// All bits, or 1 as a float.
template <class T, class Result>
void set_value(Thread& thread, const Instruction& i) {
  const bool result =
      holds(Comparison::of(i), get<T>(thread, i.from[0]), get<T>(thread, i.from[1]));
  if constexpr (std::is_integral_v<Result>)
    put<Result>(thread, i.to[0], result ? ~Result{0} : Result{0});
  else
    put<Result>(thread, i.to[0], result ? 1 : 0);
}

template <class T>
void select(Thread& thread, const Instruction& i) {
  put<T>(thread, i.to[0], get<T>(thread, get_predicate(thread, i.from[2]) ? i.from[0] : i.from[1]));
}
template <class T>
void select_by_sign(Thread& thread, const Instruction& i) {
  const bool first = get<std::int32_t>(thread, i.from[2]) >= 0;
  put<T>(thread, i.to[0], get<T>(thread, first ? i.from[0] : i.from[1]));
}

constexpr std::string_view properties[] = {"finite",     "infinite", "number",
                                           "notanumber", "normal",   "subnormal"};
template <class T>
void test_property(Thread& thread, const Instruction& i) {
  const T a = get<T>(thread, i.from[0]);
  const bool results[] = {std::isfinite(a), std::isinf(a),    !std::isnan(a),
                          std::isnan(a),    std::isnormal(a), std::fpclassify(a) == FP_SUBNORMAL};
  put_predicate(thread, i.to[0], results[i.variant]);
}

bool read_comparison(const Opcode& opcode, Instruction& instruction) {
  using enum Relation;
  static const std::map<std::string_view, Comparison> known = {
      {"eq", {equal, false}},         {"ne", {not_equal, false}},  {"lt", {less, false}},
      {"le", {less_equal, false}},    {"gt", {greater, false}},    {"ge", {greater_equal, false}},
      {"lo", {less, false}},          {"ls", {less_equal, false}}, {"hi", {greater, false}},
      {"hs", {greater_equal, false}}, {"equ", {equal, true}},      {"neu", {not_equal, true}},
      {"ltu", {less, true}},          {"leu", {less_equal, true}}, {"gtu", {greater, true}},
      {"geu", {greater_equal, true}}, {"num", {ordered, false}},   {"nan", {unordered, false}}};
  const auto found = known.find(opcode.part(1));
  if (found == known.end()) return false;
  Comparison comparison = found->second;
  if (opcode.has("and")) comparison.combination = Combination::conjunction;
  if (opcode.has("or")) comparison.combination = Combination::disjunction;
  if (opcode.has("xor")) comparison.combination = Combination::exclusive;
  instruction.variant = comparison.packed();
  return true;
}

Handler find_set(const Opcode& opcode) {
  if (opcode.size() != 4) return nullptr;
  if (opcode.part(2) == "u32" || opcode.part(2) == "s32")
    return by_type(opcode.type(), numbers(),
                   []<class T>() -> Handler { return &set_value<T, std::uint32_t>; });
  if (opcode.part(2) == "f32")
    return by_type(opcode.type(), numbers(),
                   []<class T>() -> Handler { return &set_value<T, float>; });
  return nullptr;
}

Handler find_property(const Opcode& opcode, Instruction& instruction) {
  const auto* const found = std::ranges::find(properties, opcode.part(1));
  if (found == std::end(properties)) return nullptr;
  instruction.variant = static_cast<std::uint8_t>(found - properties);
  return by_type(opcode.type(), Reals(), []<class T>() -> Handler { return &test_property<T>; });
}

}  // namespace

Handler find_comparison(const Opcode& opcode, Instruction& instruction) {
  const std::string& name = opcode.name();
  if (name == "setp" && read_comparison(opcode, instruction))
    return by_type(opcode.type(), numbers(),
                   []<class T>() -> Handler { return &set_predicate<T>; });
  if (name == "set" && read_comparison(opcode, instruction)) return find_set(opcode);
  if (name == "selp")
    return by_type(opcode.type(), numbers(), []<class T>() -> Handler { return &select<T>; });
  if (name == "slct" && opcode.type() == "s32")
    return by_type(opcode.part(1), numbers(),
                   []<class T>() -> Handler { return &select_by_sign<T>; });
  if (name == "testp") return find_property(opcode, instruction);
  return nullptr;
}

}  // namespace cohom::ptx
