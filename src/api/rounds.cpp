#include <cohom/rounds.hpp>

#include "base/float_mode.hpp"
#include "rounds/rounds_impl.hpp"

namespace cohom {

Rounds::Rounds(std::string_view codec, std::size_t count, ElementType type, int rank, int ranks,
               const RoundsOptions& options) {
  const DefaultFloatMode mode;
  impl_ = std::make_unique<RoundsImpl>(codec, count, type, rank, ranks, options);
}
Rounds::Rounds(Rounds&&) noexcept = default;
Rounds& Rounds::operator=(Rounds&&) noexcept = default;
Rounds::~Rounds() = default;

void Rounds::begin(const void* input, void* output, std::uint64_t step) {
  const DefaultFloatMode mode;
  impl_->begin(input, output, step);
}
const RoundStep* Rounds::next() { return impl_->next(); }
std::span<std::byte> Rounds::state() { return impl_->state(); }
std::string Rounds::codec() const { return impl_->codec(); }

}  // namespace cohom
