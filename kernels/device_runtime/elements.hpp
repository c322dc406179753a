#pragma once
// Elements in device memory: always aligned to their size, so that one instruction moves them.

#include "kernels/core/body/element.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/hd.hpp"

#include <cohom/element_type.hpp>
#include <cohom/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cohom::kernels::device {

using body::Arithmetic;
using body::load_element;
using body::store_element;

/// a + b with the NaN that a host writes: the first operand's, quiet, or a negative one where
/// neither is NaN. What ranks keep between calls is the same wherever they run.
template <class Real>
COHOM_HD inline Real host_sum(Real a, Real b) {
  Real sum = a + b;
#if defined(__CUDA_ARCH__)
  if (!(sum == sum)) {
    using Format = body::FloatFormat<Real>;
    using Bits = typename Format::Bits;
    constexpr Bits quiet = Bits{1} << (Format::mantissa_bits - 1);
    constexpr Bits sign = ~Format::magnitude_mask;
    if (!(a == a))
      sum = body::from_bits<Real>(body::bits_of(a) | quiet);
    else if (!(b == b))
      sum = body::from_bits<Real>(body::bits_of(b) | quiet);
    else
      sum = body::from_bits<Real>(Format::canonical_nan | sign);
  }
#endif
  return sum;
}

/// A division at the end of decoding. By powers of two it is a multiplication, which gives the same
/// bits.
template <class Real>
class Divider {
 public:
  Divider() = default;
  COHOM_HD explicit Divider(std::uint64_t divisor)
      : divides_(divisor > 1),
        exactly_((divisor & (divisor - 1)) == 0),
        divisor_(static_cast<Real>(divisor)),
        inverse_(Real{1} / divisor_) {}

  [[nodiscard]] COHOM_HD Real operator()(Real value) const {
    if (!divides_) return value;
    return exactly_ ? value * inverse_ : value / divisor_;
  }

 private:
  bool divides_ = false, exactly_ = true;
  Real divisor_ = 1, inverse_ = 1;
};

/// Registers that are loaded and stored at once.
template <class Value>
struct alignas(16) Pack {
  static constexpr std::size_t size = 16 / sizeof(Value);
  Value values[size];
};

/// Calls visitor(T{}) with the unsigned integer of so many bytes.
template <class Visitor>
void with_bits_type(std::size_t element_bytes, Visitor&& visitor) {
  switch (element_bytes) {
    case 2: return visitor(std::uint16_t{});
    case 8: return visitor(std::uint64_t{});
    default: return visitor(std::uint32_t{});
  }
}

inline bool aligned_to(const void* address, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// @throws Error(invalid_argument) naming what lies where
inline void expect_aligned(const void* address, std::size_t bytes, const char* what) {
  if (aligned_to(address, bytes)) return;
  throw Error(ErrorKind::invalid_argument,
              std::string(what) + " in device memory is at an address that ends in " +
                  std::to_string(reinterpret_cast<std::uintptr_t>(address) % 64) +
                  " (mod 64); it must be a multiple of " + std::to_string(bytes));
}

/// Bytes of what keeps a rest of an element between calls.
inline std::size_t feedback_bytes(ElementType type) { return type == ElementType::f64 ? 8 : 4; }

}  // namespace cohom::kernels::device
