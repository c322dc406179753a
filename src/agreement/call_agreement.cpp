#include "agreement/call_agreement.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace cohom {

namespace {

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

CallAgreement::CallAgreement(Channel& channel, int rank, int ranks, const CallSignature& signature,
                             std::optional<Error> error)
    : channel_(channel, rank, ranks), signature_(signature), own_error_(std::move(error)) {}

/// The lowest failing rank wins the maximum. A failed call still takes part, but is not compared.
AgreementWords::Table CallAgreement::words_of(int rank, int ranks, const CallSignature& signature,
                                              bool has_error, Offloads offloads) {
  const auto place = static_cast<std::uint64_t>(ranks - rank);
  AgreementWords::Table own;
  if (has_error) own.error = place;
  if (offloads != Offloads::yes) own.unready = std::uint64_t(offloads) << 32 | place;
  own.hash = signature.hash();
  own.complement = ~own.hash;
  return own;
}

AgreementWords::Table CallAgreement::own_words(Offloads offloads) const {
  return words_of(channel_.rank(), channel_.ranks(), signature_, own_error_.has_value(), offloads);
}

void CallAgreement::use(CallBoard& board, std::uint64_t number) {
  board_.emplace(board, number, words_, channel_.rank(), channel_.ranks());
}

void CallAgreement::begin(const Start& start) {
  words_.begin(own_words(start.offloads), start.pace, own_error_ ? nullptr : start.sum);
  if (start.board != nullptr) {
    use(*start.board, start.number);
    board_->begin();
    poll();
    return;
  }
  exchange_.begin();
  if (exchange_.done()) evaluate();
}

bool CallAgreement::poll() {
  if (!board_ || board_->done()) return false;
  const bool moved = board_->poll();
  if (!board_->done()) return moved;
  board_->end();
  evaluate();
  return moved;
}

void CallAgreement::tell_error(CallBoard* board, std::uint64_t number) {
  const AgreementWords::Table own = own_words(Offloads::no);
  if (board != nullptr) {
    use(*board, number);
    board_->tell(own);
  } else {
    exchange_.tell(own);
  }
  const std::string prefix = prefix_of(channel_.rank());
  result_.emplace(own_error_->kind(), prefix + own_error_->what());
  write_message(prefix);
  for (int peer = 0; peer < channel_.ranks(); ++peer)
    if (peer != channel_.rank()) channel_.try_send(message_, peer, failure_tag);
}

void CallAgreement::complete(const Completion& completion) {
  channel_.complete();
  if (state_ == State::maximum) {
    exchange_.complete(completion);
    if (exchange_.done()) evaluate();
    return;
  }
  const bool sent = is_sent(completion.cookie);
  if (!sent) CallChannel::expect_bytes(completion.bytes, message_bytes, telling_rank_);
  if (!sent && state_ == State::records) return take_record();
  if (channel_.pending() == 0 && state_ == State::message) read_message();
}

int CallAgreement::peer() const {
  if (state_ != State::maximum) return telling_rank_;
  return board_ ? board_->peer() : exchange_.peer();
}

void CallAgreement::evaluate() {
  const std::uint64_t error = words_.maximum().error;
  if (error != 0) {
    const int failing = channel_.ranks() - static_cast<int>(error);
    if (failing == channel_.rank() && !own_error_)  // which this rank alone can say
      throw Error(ErrorKind::transport,
                  "the agreement of a call: words were changed on their way: they say that this "
                  "rank has failed");
    return exchange_message(failing, prefix_of(failing));
  }
  if (words_.calls_differ()) return tell_records();
  state_ = State::done;
}

/// Everybody knows that the calls differ; rank 0 finds out in what, from one record after the
/// other, and tells.
void CallAgreement::tell_records() {
  state_ = State::records;
  if (channel_.rank() == 0) {
    differences_.emplace(signature_);
    record_rank_ = 1;
    return await_record();
  }
  write_record(signature_, std::span(record_).subspan(content));
  seal(record_);
  channel_.send(record_, 0, record_tag);
  exchange_message(0, "");
}

void CallAgreement::await_record() {
  telling_rank_ = record_rank_;
  channel_.receive(record_, record_rank_, record_tag);
}

void CallAgreement::take_record() {
  if (!is_sealed(record_)) CallChannel::throw_changed(telling_rank_);
  differences_->add(record_rank_, std::span<const std::byte>(record_).subspan(content));
  if (++record_rank_ < channel_.ranks()) return await_record();
  own_error_ = differences_->error();
  exchange_message(0, "");
}

/// Everybody gets the words of one rank: the lowest that failed, or rank 0.
void CallAgreement::exchange_message(int telling_rank, const std::string& prefix) {
  state_ = State::message;
  telling_rank_ = telling_rank;
  if (channel_.rank() != telling_rank) return channel_.receive(message_, telling_rank, failure_tag);
  write_message(prefix);
  for (int peer = 0; peer < channel_.ranks(); ++peer)
    if (peer != channel_.rank()) channel_.send(message_, peer, failure_tag);
  if (channel_.pending() == 0) read_message();
}

void CallAgreement::write_message(const std::string& prefix) {
  message_.fill(std::byte{0});
  const std::string text = prefix + own_error_->what();
  const auto kind = static_cast<std::uint32_t>(own_error_->kind());
  std::memcpy(message_.data() + content, &kind, sizeof kind);
  std::memcpy(message_.data() + content + sizeof kind, text.data(),
              std::min(text.size(), message_bytes - content - sizeof kind - 1));
  seal(message_);
}

/// Of an error that is one rank's.
std::string CallAgreement::prefix_of(int rank) const {
  return channel_.ranks() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}

void CallAgreement::read_message() {
  std::uint32_t kind = 0;
  std::memcpy(&kind, message_.data() + content, sizeof kind);
  const auto known = static_cast<std::uint32_t>(ErrorKind::transport);
  if (!is_sealed(message_) || message_.back() != std::byte{0} || kind < 1 || kind > known)
    CallChannel::throw_changed(telling_rank_);
  const char* text = reinterpret_cast<const char*>(message_.data()) + content + sizeof kind;
  result_.emplace(static_cast<ErrorKind>(kind), std::string(text));
  state_ = State::done;
}

std::optional<int> CallAgreement::unready_rank() const {
  const std::uint64_t unready = words_.maximum().unready;
  if (unready == 0) return std::nullopt;
  return channel_.ranks() - static_cast<int>(unready & 0xffffffff);
}

std::string CallAgreement::waits_for() const {
  const bool tells = state_ == State::message && channel_.rank() == telling_rank_;
  return tells ? "ranks that do not take its error"
               : "rank " + std::to_string(peer()) + " to agree on the call";
}

}  // namespace cohom
