#include "call_agreement.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
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

void CallSignature::text(std::string_view name, std::string value) {
  const std::uint64_t hash = XXH3_64bits(value.data(), value.size());
  add({name, hash, std::move(value)});
}

CallAgreement::CallAgreement(Channel& channel, int rank, int ranks, CallSignature signature,
                             std::optional<Error> error, Offloads offloads)
    : channel_(channel),
      rank_(rank),
      ranks_(ranks),
      signature_(std::move(signature)),
      own_error_(std::move(error)) {
  // The lowest failing rank wins the maximum. A failed call still sends a full signature, so that
  // sizes match; its fields are not compared.
  maximum_[0] = own_error_ ? std::uint64_t(ranks - rank) : 0;
  if (offloads != Offloads::yes)
    maximum_[1] = std::uint64_t(offloads) << 32 | std::uint64_t(ranks - rank);
  const auto fields = signature_.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    maximum_[first_field + 2 * f] = fields[f].value;
    maximum_[first_field + 1 + 2 * f] = ~fields[f].value;
  }
  next_hop();
}

void CallAgreement::next_hop() {
  if (distance_ >= ranks_) return evaluate();
  leaving_ = maximum_;
  pending_ = 2;
  const std::uint64_t cookie = cookie_round << 56;
  channel_.receive(std::as_writable_bytes(std::span(arriving_)),
                   (rank_ + ranks_ - distance_) % ranks_, tag + hop_, cookie);
  channel_.send(std::as_bytes(std::span(leaving_)), (rank_ + distance_) % ranks_, tag + hop_,
                cookie);
}

void CallAgreement::complete(const Completion&) {
  if (--pending_ != 0) return;
  if (state_ == State::maximum) {
    merge_arrived();
    distance_ *= 2;
    ++hop_;
    next_hop();
  } else if (state_ == State::message) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, message_.data(), sizeof kind);
    const char* text = reinterpret_cast<const char*>(message_.data()) + sizeof kind;
    result_.emplace(static_cast<ErrorKind>(kind), std::string(text));
    state_ = State::finished;
  }
}

void CallAgreement::merge_arrived() {
  for (std::size_t i = 0; i < maximum_.size(); ++i)
    maximum_[i] = std::max(maximum_[i], arriving_[i]);
}

void CallAgreement::evaluate() {
  if (maximum_[0] != 0) {
    const int failing = ranks_ - static_cast<int>(maximum_[0]);
    return exchange_message(failing, ranks_ == 1 ? "" : "rank " + std::to_string(failing) + ": ");
  }
  for (std::size_t f = 0; f < CallSignature::field_limit; ++f) {
    if (!ranks_differ(f)) continue;
    // Everybody sees that, but only hashes of texts travelled: rank 0 tells its own.
    own_error_ = mismatch();
    return exchange_message(0, "");
  }
  state_ = State::finished;
}

/// Everybody gets the words of one rank: the lowest that failed, or rank 0.
void CallAgreement::exchange_message(int telling_rank, const std::string& prefix) {
  state_ = State::message;
  message_.fill(std::byte{0});
  const std::uint64_t cookie = cookie_round << 56;
  if (rank_ == telling_rank) {
    const std::string text = prefix + own_error_->what();
    const auto kind = static_cast<std::uint32_t>(own_error_->kind());
    std::memcpy(message_.data(), &kind, sizeof kind);
    std::memcpy(message_.data() + sizeof kind, text.data(),
                std::min(text.size(), message_bytes - sizeof kind - 1));
    pending_ = std::size_t(ranks_ - 1);
    for (int peer = 0; peer < ranks_; ++peer)
      if (peer != rank_) channel_.send(message_, peer, tag + 63, cookie);
    if (pending_ == 0) {
      pending_ = 1;
      complete({});
    }
  } else {
    pending_ = 1;
    channel_.receive(message_, telling_rank, tag + 63, cookie);
  }
}

std::optional<int> CallAgreement::unready_rank() const {
  if (maximum_[1] == 0) return std::nullopt;
  return ranks_ - static_cast<int>(maximum_[1] & 0xffffffff);
}

bool CallAgreement::ranks_differ(std::size_t field) const {
  const std::uint64_t high = maximum_[first_field + 2 * field];
  const std::uint64_t inverted_low = maximum_[first_field + 1 + 2 * field];
  const bool present = (high | inverted_low) != 0;
  return present && high != ~inverted_low;
}

Error CallAgreement::mismatch() const {
  std::string differing;
  const auto fields = signature_.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!ranks_differ(f)) continue;
    const SignatureField& field = fields[f];
    differing += (differing.empty() ? "" : "; ") + std::string(field.name);
    if (field.text)
      differing += " (rank " + std::to_string(rank_) + ": \"" + *field.text + "\")";
    else
      differing += " (from " + std::to_string(~maximum_[first_field + 1 + 2 * f]) + " to " +
                   std::to_string(maximum_[first_field + 2 * f]) + ")";
    if (field.name == "step") differing += ": restore or reset the state on all ranks";
    if (f == 0) break;  // calls of different kinds have different fields
  }
  return Error(ErrorKind::mismatch, "ranks disagree on " + differing);
}

}  // namespace cohom
