#pragma once
// ReductionKind: which ranks get which elements of what others bring.

#include <cohom/cxx20.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cohom {

enum class ReductionKind : std::uint8_t {
  allreduce,       ///< every rank gets all
  reduce_scatter,  ///< rank r gets the r-th of as many equal parts as there are ranks
  reduce,          ///< one rank, the root, gets all
  allgather,       ///< every rank brings a part and gets all parts; nothing is added
};

constexpr std::string_view name_of(ReductionKind kind) noexcept {
  switch (kind) {
    case ReductionKind::reduce_scatter: return "reduce_scatter";
    case ReductionKind::reduce: return "reduce";
    case ReductionKind::allgather: return "allgather";
    case ReductionKind::allreduce: break;
  }
  return "allreduce";
}

constexpr std::optional<ReductionKind> reduction_kind_named(std::string_view name) noexcept {
  for (const auto kind : {ReductionKind::allreduce, ReductionKind::reduce_scatter,
                          ReductionKind::reduce, ReductionKind::allgather})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

}  // namespace cohom
