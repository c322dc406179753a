#include "agreement/short_sum.hpp"

#include <cohom/merge.hpp>

#include <array>
#include <cstring>

namespace cohom {

ShortSum::ShortSum(const kernels::KernelTable& kernels, ElementType type, std::size_t count,
                   std::uint64_t divisor, std::size_t head_bytes, bool checksum)
    : kernels_(kernels),
      type_(type),
      count_(count),
      divisor_(divisor),
      head_bytes_(head_bytes),
      checksum_(checksum),
      message_((head_bytes + count * size_of(type) + 7) / 8) {}

void ShortSum::begin(const void* input, void* output) {
  output_ = output;
  if (bytes() != 0) std::memcpy(elements(), input, bytes());
}

void ShortSum::add(const std::byte* arrived, bool own_first, bool last) {
  const auto operands = own_first ? std::array<const void*, 2>{elements(), arrived}
                                  : std::array<const void*, 2>{arrived, elements()};
  const bool is_result = last && divisor_ == 1;
  kernels_.merge({MergeKind::add_float, type_}, operands.data(), operands.size(), bytes(),
                 is_result ? output_ : elements());
  if (last && !is_result) finish(elements());
}

void ShortSum::take(const std::byte* arrived) { finish(arrived); }

void ShortSum::write_output() { finish(elements()); }

void ShortSum::finish(const std::byte* sum) {
  kernels_.finish_elements(type_, sum, count_, divisor_, output_);
}

}  // namespace cohom
