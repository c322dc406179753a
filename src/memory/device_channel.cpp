#include "memory/device_channel.hpp"

#include <utility>

namespace cohom {

namespace {

/// A staged message's cookie is its place in the list. Rounds and agreements have other upper
/// bytes.
constexpr std::uint64_t arriving_cookie = std::uint64_t{0xfd} << 56;

bool is_arriving(std::uint64_t cookie) { return cookie >> 56 == arriving_cookie >> 56; }

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
  if (idle_.empty()) {
    idle_.push_back(arriving_.size());
    arriving_.emplace_back();
  }
  const std::size_t place = idle_.back();
  idle_.pop_back();
  std::byte* const staged = memory_.staged + (buffer.data() - memory_.words.data());
  arriving_[place] = {staged, buffer.data(), cookie};
  channel_->receive({staged, buffer.size()}, peer, tag, arriving_cookie | place);
}

/// Kernels that write the words were started before.
void DeviceChannel::start_batch() {
  kernels::DeviceStream stream = work_.stream();
  if (memory_.staged != nullptr) {
    stream = work_.to_host();
    work_.let_follow(stream, work_.stream());
    for (std::size_t i = sends_.size() - unmarked_; i < sends_.size(); ++i) {
      auto& data = sends_[i].data;
      std::byte* const staged = memory_.staged + (data.data() - memory_.words.data());
      if (!data.empty()) work_.runtime().copy_to_host(staged, data.data(), data.size(), stream);
      data = {staged, data.size()};
    }
  }
  batches_.push_back({work_.mark(stream), std::exchange(unmarked_, 0)});
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
  for (Completion& completion : out.first(count)) copies |= take(completion);
  if (copies) work_.let_follow(work_.stream(), work_.from_host());
  return count;
}

/// Whether it starts a copy.
bool DeviceChannel::take(Completion& completion) {
  if (!is_arriving(completion.cookie)) return false;
  const auto place = static_cast<std::size_t>(completion.cookie & ~arriving_cookie);
  const Arriving& message = arriving_[place];
  if (completion.bytes != 0)
    work_.runtime().copy_to_device(message.words, message.staged, completion.bytes,
                                   work_.from_host());
  completion.cookie = message.cookie;
  idle_.push_back(place);
  return completion.bytes != 0;
}

}  // namespace cohom
