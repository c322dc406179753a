#include "memory/device_channel.hpp"

#include "base/tags.hpp"

#include <utility>

namespace cohom {

namespace {

/// A staged message's cookie has its place in the list of its kind.
constexpr std::uint64_t staged_cookie(int round, std::size_t place) {
  return std::uint64_t(round) << 56 | place;
}
std::size_t place_of(std::uint64_t cookie) { return cookie & ~(std::uint64_t{0xff} << 56); }

/// A place that nobody uses.
template <class Message>
std::size_t take_place(std::vector<Message>& messages, std::vector<std::size_t>& idle) {
  if (idle.empty()) {
    idle.push_back(messages.size());
    messages.emplace_back();
  }
  const std::size_t place = idle.back();
  idle.pop_back();
  return place;
}

}  // namespace

DeviceChannel::~DeviceChannel() {
  for (const Batch& batch : batches_) work_.forget(batch.mark);
}

void DeviceChannel::send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                         std::uint64_t cookie) {
  if (!is_on_device(data.data())) return channel_->send(data, peer, tag, cookie);
  sends_.push_back({data, peer, tag, cookie});
  ++unmarked_;
}

void DeviceChannel::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                            std::uint64_t cookie) {
  if (memory_.staged == nullptr || !is_on_device(buffer.data()))
    return channel_->receive(buffer, peer, tag, cookie);
  const std::size_t place = take_place(arriving_, idle_arriving_);
  std::byte* const staged = staged_place(buffer.data());
  arriving_[place] = {staged, buffer.data(), cookie};
  channel_->receive({staged, buffer.size()}, peer, tag, staged_cookie(arriving_round, place));
}

/// Kernels that write the words were started before.
void DeviceChannel::start_batch() {
  kernels::DeviceStream stream = work_.stream();
  if (memory_.staged != nullptr) {
    stream = work_.to_host();
    work_.let_follow(stream, work_.stream());
    for (std::size_t i = sends_.size() - unmarked_; i < sends_.size(); ++i) stage(sends_[i]);
  }
  batches_.push_back({work_.mark(stream), std::exchange(unmarked_, 0)});
}

/// Gives a send the pinned memory of its words.
void DeviceChannel::stage(Send& send) {
  copy_to_host(send.data, 0);
  send.data = {staged_place(send.data.data()), send.data.size()};
  const std::size_t place = take_place(leaving_, idle_leaving_);
  leaving_[place] = {send.data, send.cookie};
  send.cookie = staged_cookie(leaving_round, place);
}

/// But for what open sends of the list, from `first` on, have: their words are still those, and a
/// receiver may be reading their copy.
void DeviceChannel::copy_to_host(std::span<const std::byte> words, std::size_t first) {
  if (words.empty()) return;
  const std::byte* const begin = staged_place(words.data());
  const std::byte* const end = begin + words.size();
  for (std::size_t i = first; i < leaving_.size(); ++i) {
    const auto& open = leaving_[i].staged;
    const std::byte* const open_end = open.data() + open.size();
    if (open.empty() || open_end <= begin || open.data() >= end) continue;
    if (open.data() > begin) copy_to_host(words.first(std::size_t(open.data() - begin)), i + 1);
    if (open_end < end) copy_to_host(words.last(std::size_t(end - open_end)), i + 1);
    return;
  }
  work_.runtime().copy_to_host(staged_place(words.data()), words.data(), words.size(),
                               work_.to_host());
}

/// Messages of one stream leave in their order: marks are reached in theirs.
void DeviceChannel::send_what_is_written() {
  if (unmarked_ != 0) start_batch();
  while (!batches_.empty() && work_.reached(batches_.front().mark)) {
    for (std::size_t left = batches_.front().sends; left > 0; --left) {
      const Send& send = sends_.front();
      channel_->send(send.data, send.peer, send.tag, send.cookie);
      sends_.pop_front();
    }
    work_.forget(batches_.front().mark);
    batches_.pop_front();
  }
}

/// Kernels that read what came are started later and behind the copies, so nobody waits for these.
/// They overwrite nothing that is still read: a receive is the first in a call that writes its
/// words.
std::size_t DeviceChannel::poll(std::span<Completion> out) {
  send_what_is_written();
  const std::size_t count = channel_->poll(out);
  bool copies = false;
  for (Completion& completion : out.first(count)) {
    const int round = round_of_cookie(completion.cookie);
    if (round == arriving_round) copies |= arrive(completion);
    if (round == leaving_round) leave(completion);
  }
  if (copies) work_.let_follow(work_.stream(), work_.from_host());
  return count;
}

/// Whether it starts a copy.
bool DeviceChannel::arrive(Completion& completion) {
  const std::size_t place = place_of(completion.cookie);
  const Arriving& message = arriving_[place];
  if (completion.bytes != 0)
    work_.runtime().copy_to_device(message.words, message.staged, completion.bytes,
                                   work_.from_host());
  completion.cookie = message.cookie;
  idle_arriving_.push_back(place);
  return completion.bytes != 0;
}

void DeviceChannel::leave(Completion& completion) {
  const std::size_t place = place_of(completion.cookie);
  completion.cookie = std::exchange(leaving_[place], {}).cookie;
  idle_leaving_.push_back(place);
}

}  // namespace cohom
