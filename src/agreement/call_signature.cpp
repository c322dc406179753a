#include "agreement/call_signature.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace cohom {

void CallSignature::add(SignatureField field) {
  if (count_ == field_limit)
    throw Error(ErrorKind::state, "no room for " + std::string(field.name) + " in a signature");
  fields_[count_++] = std::move(field);
}

void CallSignature::number(std::string_view name, std::uint64_t value) {
  add({name, value, std::nullopt});
}

void CallSignature::text(std::string_view name, std::string value, std::string_view remark) {
  const std::uint64_t hash = XXH3_64bits(value.data(), value.size());
  value += remark;
  add({name, hash, std::move(value)});
}

void CallSignature::set(std::string_view name, std::uint64_t value) {
  const auto fields = std::span(fields_).first(count_);
  const auto field = std::ranges::find(fields, name, &SignatureField::name);
  if (field == fields.end())
    throw Error(ErrorKind::state, "no " + std::string(name) + " in a signature");
  field->value = value;
}

std::uint64_t CallSignature::hash() const {
  std::array<std::uint64_t, field_limit> values{};
  for (std::size_t f = 0; f < count_; ++f) values[f] = fields_[f].value;
  return XXH3_64bits(values.data(), count_ * sizeof values[0]);
}

}  // namespace cohom
