#include "offload/control_message.hpp"

#include <cohom/error.hpp>

#include <bit>
#include <concepts>
#include <cstring>
#include <utility>

namespace cohom::offload {

namespace {

static_assert(std::endian::native == std::endian::little);

class Writer {
 public:
  template <std::unsigned_integral T>
  void operator()(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(Refusal reason) { (*this)(static_cast<std::uint32_t>(reason)); }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <std::unsigned_integral T>
  void operator()(T& value) {
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
  }
  void operator()(Refusal& reason) {
    std::uint32_t number = 0;
    (*this)(number);
    reason = static_cast<Refusal>(number);
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    text = take(size);
  }
  void expect_end() const {
    if (!bytes_.empty()) throw Error(ErrorKind::transport, "a control message is too long");
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw Error(ErrorKind::transport, "a control message is too short");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes_;
};

// The fields of each message, once for both directions: M is const when written.

template <class M>
concept JoinMessage = std::same_as<std::remove_const_t<M>, Join>;

void fields(auto&& io, JoinMessage auto& m) {
  io(m.version), io(m.token), io(m.job), io(m.group), io(m.worker), io(m.workers);
  io(m.payload_bytes), io(m.message_bytes), io(m.slots);
}

template <class M>
concept AdmittedMessage = std::same_as<std::remove_const_t<M>, Admitted>;

void fields(auto&& io, AdmittedMessage auto& m) {
  io(m.kind), io(m.number), io(m.epoch), io(m.payload_bytes), io(m.slots), io(m.merges);
  io(m.takes_narrow), io(m.data_address);
}

template <class M>
concept EmptyMessage =
    std::same_as<std::remove_const_t<M>, Ready> || std::same_as<std::remove_const_t<M>, Go>;

void fields(auto&&, EmptyMessage auto&) {}

template <class M>
concept RefusedMessage = std::same_as<std::remove_const_t<M>, Refused>;

void fields(auto&& io, RefusedMessage auto& m) { io(m.reason), io(m.text); }

template <class M>
concept StatusRequestMessage = std::same_as<std::remove_const_t<M>, StatusRequest>;

void fields(auto&& io, StatusRequestMessage auto& m) { io(m.token); }

template <class M>
concept StatusMessage = std::same_as<std::remove_const_t<M>, Status>;

void fields(auto&& io, StatusMessage auto& m) { io(m.json); }

template <std::size_t Kind = 0>
Message decode(std::uint32_t kind, Reader& reader) {
  if constexpr (Kind == std::variant_size_v<Message>) {
    throw Error(ErrorKind::transport, "a control message of unknown kind " + std::to_string(kind));
  } else {
    if (kind != Kind + 1) return decode<Kind + 1>(kind, reader);
    std::variant_alternative_t<Kind, Message> message;
    fields(reader, message);
    return message;
  }
}

constexpr std::size_t prefix_bytes = 8;

}  // namespace

std::string_view name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::no_resources: return "no resources";
    case Refusal::lock_failed: return "lock failed (retry)";
    case Refusal::not_supported: return "not supported";
    case Refusal::wrong_token: return "wrong token";
    case Refusal::gone: return "gone";
  }
  return "refused for an unknown reason";
}

std::string encode(const Message& message) {
  Writer body;
  std::visit([&](const auto& m) { fields(body, m); }, message);
  Writer whole;
  whole(static_cast<std::uint32_t>(prefix_bytes + body.bytes().size()));
  whole(static_cast<std::uint32_t>(message.index() + 1));
  return whole.bytes() + body.bytes();
}

std::optional<Message> MessageReader::next() {
  if (buffer_.size() < prefix_bytes) return std::nullopt;
  std::uint32_t bytes = 0, kind = 0;
  Reader(std::string_view(buffer_).substr(0, 4))(bytes);
  Reader(std::string_view(buffer_).substr(4, 4))(kind);
  if (bytes < prefix_bytes || bytes > most_bytes_)
    throw Error(ErrorKind::transport,
                "what came is no control message of a cohom-aggregator: it would have " +
                    std::to_string(bytes) + " bytes, and they have " +
                    std::to_string(prefix_bytes) + " to " + std::to_string(most_bytes_));
  if (buffer_.size() < bytes) return std::nullopt;
  Reader reader(std::string_view(buffer_).substr(prefix_bytes, bytes - prefix_bytes));
  Message message = decode(kind, reader);
  reader.expect_end();
  buffer_.erase(0, bytes);
  return message;
}

bool same_token(std::string_view given, std::string_view right) {
  // Every byte of what was given is looked at, whatever the right one is.
  unsigned difference = given.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = right.empty() ? '\0' : right[i % right.size()];
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0 && !right.empty();
}

}  // namespace cohom::offload
