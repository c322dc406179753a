#include "rounds/call_status.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace cohom {

// A value is alike on all ranks if its maximum is it, and the maximum of its complement, too.
void CallStatus::begin(const CallSignature& signature, std::optional<Error> error) {
  signature_ = signature;
  error_ = std::move(error);
  words_.assign(1, error_ ? static_cast<std::uint64_t>(error_->kind()) : 0);
  for (const SignatureField& field : signature_.fields()) {
    words_.push_back(field.value);
    words_.push_back(~field.value);
  }
}

void CallStatus::check_alone() const {
  if (error_) throw Error(*error_);
}

void CallStatus::check() {
  check_alone();
  if (words_[0] != 0) {
    const auto kind = static_cast<ErrorKind>(words_[0]);
    throw Error(kind, "another rank's arguments are wrong (" + std::string(name_of(kind)) +
                          "); it says how");
  }
  std::size_t word = 1;
  for (const SignatureField& field : signature_.fields()) {
    const bool alike = words_[word] == field.value && words_[word + 1] == ~field.value;
    if (!alike)
      throw Error(ErrorKind::mismatch, "ranks disagree about " + std::string(field.name) +
                                           "; this one has " +
                                           field.text.value_or(std::to_string(field.value)));
    word += 2;
  }
  right_ = true;
}

}  // namespace cohom
