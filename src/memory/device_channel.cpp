#include "memory/device_channel.hpp"

namespace cohom {

namespace {

/// A staged message's cookie is its place in the list. Rounds and agreements have other upper bytes.
constexpr std::uint64_t arriving_cookie = std::uint64_t{0xfd} << 56;

bool is_arriving(std::uint64_t cookie) { return cookie >> 56 == arriving_cookie >> 56; }

}  // namespace

DeviceChannel::~DeviceChannel() {
  for (const Batch& batch : batches_)
    if (batch.mark != nullptr) work_.forget(batch.mark);
}

bool DeviceChannel::is_on_device(const std::byte* data, std::size_t bytes) const {
  return bytes != 0 && data >= memory_.words.data() &&
         data < memory_.words.data() + memory_.words.size();
}

void DeviceChannel::send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                         std::uint64_t cookie) {
  if (!is_on_device(data.data(), data.size())) return channel_->send(data, peer, tag, cookie);
  if (memory_.staged != nullptr) {
    std::byte* const staged = memory_.staged + (data.data() - memory_.words.data());
    work_.runtime().copy_to_host(staged, data.data(), data.size(), work_.stream());
    data = {staged, data.size()};
  }
  sends_.push_back({data, peer, tag, cookie});
  if (batches_.empty() || batches_.back().mark != nullptr) batches_.push_back({});
  ++batches_.back().sends;
}

void DeviceChannel::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                            std::uint64_t cookie) {
  if (memory_.staged == nullptr || !is_on_device(buffer.data(), buffer.size()))
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

/// Messages of one stream leave in their order: marks are reached in theirs.
void DeviceChannel::send_what_is_written() {
  if (!batches_.empty() && batches_.back().mark == nullptr) batches_.back().mark = work_.mark();
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

std::size_t DeviceChannel::poll(std::span<Completion> out) {
  send_what_is_written();
  const std::size_t count = channel_->poll(out);
  for (Completion& completion : out.first(count)) take(completion);
  return count;
}

/// Kernels that read what came are started behind the copy, so nobody waits for it.
void DeviceChannel::take(Completion& completion) {
  if (!is_arriving(completion.cookie)) return;
  const auto place = static_cast<std::size_t>(completion.cookie & ~arriving_cookie);
  const Arriving& message = arriving_[place];
  if (completion.bytes != 0)
    work_.runtime().copy_to_device(message.words, message.staged, completion.bytes, work_.stream());
  completion.cookie = message.cookie;
  idle_.push_back(place);
}

}  // namespace cohom
