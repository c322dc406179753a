#include "agreement/call_agreement.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace cohom {

namespace {

/// Of a table without its last word.
template <class Table>
std::uint64_t checksum_of(const Table& table) {
  return XXH3_64bits(table.data(), (table.size() - 1) * sizeof table[0]);
}

/// Of a message: its first word is the checksum of the rest.
template <class Message>
std::uint64_t checksum_of_message(const Message& message) {
  return XXH3_64bits(message.data() + sizeof(std::uint64_t),
                     message.size() - sizeof(std::uint64_t));
}

template <class Message>
void seal(Message& message) {
  const std::uint64_t checksum = checksum_of_message(message);
  std::memcpy(message.data(), &checksum, sizeof checksum);
}

template <class Message>
bool is_sealed(const Message& message) {
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, message.data(), sizeof checksum);
  return checksum == checksum_of_message(message);
}

/// Lies behind the checksum: of an error its kind (32 bits) and text, of a record the record.
constexpr std::size_t content = sizeof(std::uint64_t);

}  // namespace

CallAgreement::CallAgreement(Channel& channel, int rank, int ranks, CallSignature signature,
                             std::optional<Error> error, Offloads offloads)
    : channel_(channel),
      rank_(rank),
      ranks_(ranks),
      signature_(std::move(signature)),
      own_error_(std::move(error)) {
  // The lowest failing rank wins the maximum. A failed call still takes part, but is not compared.
  maximum_[0] = own_error_ ? std::uint64_t(ranks - rank) : 0;
  if (offloads != Offloads::yes)
    maximum_[1] = std::uint64_t(offloads) << 32 | std::uint64_t(ranks - rank);
  maximum_[2] = signature_.hash();
  maximum_[3] = ~maximum_[2];
  next_hop();
}

void CallAgreement::next_hop() {
  if (distance_ >= ranks_) return evaluate();
  leaving_ = maximum_;
  leaving_.back() = checksum_of(leaving_);
  pending_ = 2;
  channel_.receive(std::as_writable_bytes(std::span(arriving_)), peer_of_hop(), call_tag(hop_),
                   call_cookie(false));
  channel_.send(std::as_bytes(std::span(leaving_)), (rank_ + distance_) % ranks_, call_tag(hop_),
                call_cookie(true));
}

void CallAgreement::complete(const Completion& completion) {
  --pending_;
  if (!is_sent(completion.cookie)) {
    expect_bytes(completion.bytes, state_ == State::maximum ? sizeof(Table) : message_bytes);
    if (state_ == State::records) return take_record();
  }
  if (pending_ != 0) return;
  if (state_ == State::maximum) {
    merge_arrived();
    distance_ *= 2;
    ++hop_;
    next_hop();
  } else if (state_ == State::message) {
    read_message();
  }
}

void CallAgreement::expect_bytes(std::size_t arrived, std::size_t right) const {
  if (arrived != right)
    throw Error(ErrorKind::transport,
                "the agreement of a call: " + std::to_string(arrived) + " bytes came from rank " +
                    std::to_string(state_ == State::maximum ? peer_of_hop() : telling_rank_) +
                    " where " + std::to_string(right) +
                    " were expected; do all ranks run the same version of cohom?");
}

void CallAgreement::throw_changed() const {
  const int from = state_ == State::maximum ? peer_of_hop() : telling_rank_;
  throw Error(ErrorKind::transport, "the agreement of a call: words of rank " +
                                        std::to_string(from) + " were changed on their way");
}

void CallAgreement::merge_arrived() {
  Table arrived;
  std::copy_n(arriving_.begin(), arrived.size(), arrived.begin());
  if (arrived.back() != checksum_of(arrived)) throw_changed();
  const auto more_than_ranks = [&](std::uint64_t rank) { return rank > std::uint64_t(ranks_); };
  if (more_than_ranks(arrived[0]) || more_than_ranks(arrived[1] & 0xffffffff)) throw_changed();
  for (std::size_t i = 0; i + 1 < maximum_.size(); ++i)
    maximum_[i] = std::max(maximum_[i], arrived[i]);
}

void CallAgreement::evaluate() {
  if (maximum_[0] != 0) {
    const int failing = ranks_ - static_cast<int>(maximum_[0]);
    if (failing == rank_ && !own_error_)  // which this rank alone can say
      throw Error(ErrorKind::transport,
                  "the agreement of a call: words were changed on their way: they say that this "
                  "rank has failed");
    return exchange_message(failing, ranks_ == 1 ? "" : "rank " + std::to_string(failing) + ": ");
  }
  if (maximum_[2] != ~maximum_[3]) return tell_records();
  state_ = State::finished;
}

void CallAgreement::send(const Message& message, int peer, std::uint32_t with_tag) {
  ++pending_;
  channel_.send(message, peer, with_tag, call_cookie(true));
}

void CallAgreement::receive(Message& message, int peer, std::uint32_t with_tag) {
  ++pending_;
  channel_.receive(message, peer, with_tag, call_cookie(false));
}

/// Everybody knows that the calls differ; rank 0 finds out in what, from one record after the
/// other, and tells.
void CallAgreement::tell_records() {
  state_ = State::records;
  if (rank_ == 0) {
    differences_.emplace(signature_);
    record_rank_ = 1;
    return await_record();
  }
  write_record(signature_, std::span(record_).subspan(content));
  seal(record_);
  send(record_, 0, record_tag);
  exchange_message(0, "");
}

void CallAgreement::await_record() {
  telling_rank_ = record_rank_;
  receive(record_, record_rank_, record_tag);
}

void CallAgreement::take_record() {
  if (!is_sealed(record_)) throw_changed();
  differences_->add(record_rank_, std::span<const std::byte>(record_).subspan(content));
  if (++record_rank_ < ranks_) return await_record();
  own_error_ = differences_->error();
  exchange_message(0, "");
}

/// Everybody gets the words of one rank: the lowest that failed, or rank 0.
void CallAgreement::exchange_message(int telling_rank, const std::string& prefix) {
  state_ = State::message;
  telling_rank_ = telling_rank;
  if (rank_ != telling_rank) return receive(message_, telling_rank, failure_tag);
  message_.fill(std::byte{0});
  const std::string text = prefix + own_error_->what();
  const auto kind = static_cast<std::uint32_t>(own_error_->kind());
  std::memcpy(message_.data() + content, &kind, sizeof kind);
  std::memcpy(message_.data() + content + sizeof kind, text.data(),
              std::min(text.size(), message_bytes - content - sizeof kind - 1));
  seal(message_);
  for (int peer = 0; peer < ranks_; ++peer)
    if (peer != rank_) send(message_, peer, failure_tag);
  if (pending_ == 0) read_message();
}

void CallAgreement::read_message() {
  std::uint32_t kind = 0;
  std::memcpy(&kind, message_.data() + content, sizeof kind);
  const auto known = static_cast<std::uint32_t>(ErrorKind::transport);
  if (!is_sealed(message_) || message_.back() != std::byte{0} || kind < 1 || kind > known)
    throw_changed();
  const char* text = reinterpret_cast<const char*>(message_.data()) + content + sizeof kind;
  result_.emplace(static_cast<ErrorKind>(kind), std::string(text));
  state_ = State::finished;
}

std::optional<int> CallAgreement::unready_rank() const {
  if (maximum_[1] == 0) return std::nullopt;
  return ranks_ - static_cast<int>(maximum_[1] & 0xffffffff);
}

std::string CallAgreement::waits_for() const {
  const int peer = state_ == State::maximum ? peer_of_hop() : telling_rank_;
  const bool tells = state_ == State::message && rank_ == telling_rank_;
  return tells ? "ranks that do not take its error"
               : "rank " + std::to_string(peer) + " to agree on the call";
}

}  // namespace cohom
