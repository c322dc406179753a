#include "mpfr_reference.hpp"

#include "number_format.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

namespace cohom::test {
namespace {

/// Holds 2^200 times the largest number of f64 down to its least denormal.
constexpr mpfr_prec_t exact_bits = 2400;

/// The exponents that numbers may have, until it is gone. MPFR's numbers are m 2^e with m in [1/2,
/// 1).
class ExponentRange {
 public:
  explicit ExponentRange(const NumberFormat& format) {
    mpfr_set_emin(format.min_exponent + 1);
    mpfr_set_emax(format.max_exponent);
  }
  ~ExponentRange() {
    mpfr_set_emin(least_);
    mpfr_set_emax(largest_);
  }
  ExponentRange(const ExponentRange&) = delete;
  ExponentRange& operator=(const ExponentRange&) = delete;

 private:
  mpfr_exp_t least_ = mpfr_get_emin(), largest_ = mpfr_get_emax();
};

void require_exact(int ternary) {
  if (ternary != 0) throw std::logic_error("mpfr_reference: a sum was rounded");
}

}  // namespace

MpfrSum::MpfrSum() {
  mpfr_init2(sum_, exact_bits);
  mpfr_init2(product_, 53 + 64);
  mpfr_init2(quotient_, 53);
  clear();
}

MpfrSum::~MpfrSum() {
  mpfr_clear(sum_);
  mpfr_clear(product_);
  mpfr_clear(quotient_);
}

void MpfrSum::clear() {
  mpfr_set_zero(sum_, 1);
  values_ = minus_zeros_ = 0;
  nan_ = plus_infinity_ = minus_infinity_ = false;
}

void MpfrSum::add(double value, unsigned long times) {
  values_ += times;
  if (value == 0 && std::signbit(value)) minus_zeros_ += times;
  nan_ |= std::isnan(value);
  plus_infinity_ |= std::isinf(value) && value > 0;
  minus_infinity_ |= std::isinf(value) && value < 0;
  if (!std::isfinite(value)) return;
  if (times == 1) return require_exact(mpfr_add_d(sum_, sum_, value, MPFR_RNDN));
  require_exact(mpfr_set_d(product_, value, MPFR_RNDN));
  require_exact(mpfr_mul_ui(product_, product_, times, MPFR_RNDN));
  require_exact(mpfr_add(sum_, sum_, product_, MPFR_RNDN));
}

double MpfrSum::rounded(ElementType type, unsigned long divisor) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (nan_ || (plus_infinity_ && minus_infinity_)) return std::numeric_limits<double>::quiet_NaN();
  if (plus_infinity_ || minus_infinity_) return plus_infinity_ ? infinity : -infinity;
  if (mpfr_zero_p(sum_) != 0) return values_ != 0 && minus_zeros_ == values_ ? -0.0 : 0.0;
  const NumberFormat format = number_format(type);
  mpfr_set_prec(quotient_, format.precision);
  // What the first rounding did is told to the next two, which may round the same number again.
  int ternary = mpfr_div_ui(quotient_, sum_, divisor, MPFR_RNDN);
  const ExponentRange range(format);
  ternary = mpfr_check_range(quotient_, ternary, MPFR_RNDN);
  mpfr_subnormalize(quotient_, ternary, MPFR_RNDN);
  return mpfr_get_d(quotient_, MPFR_RNDN);
}

Bytes mpfr_sums(ElementType type, std::span<const Bytes> vectors, std::uint64_t divisor) {
  std::vector<std::vector<double>> values;
  for (const Bytes& vector : vectors) values.push_back(to_values(type, vector));
  std::vector<double> sums(values[0].size());
  MpfrSum sum;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sum.clear();
    for (const auto& vector : values) sum.add(vector[i]);
    sums[i] = sum.rounded(type, divisor);
  }
  return to_bytes(type, sums);
}

}  // namespace cohom::test
