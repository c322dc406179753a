#include "aggregation/protocol/control_message.hpp"

#include "base/text.hpp"

#include <cohom/error.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>
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
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T value) { (*this)(static_cast<std::uint32_t>(value)); }
  template <std::size_t N>
  void operator()(const std::array<std::uint8_t, N>& bytes) {
    bytes_ += as_text(bytes);
  }
  void rest() {}
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  void operator()(const UcxAddress& address) {
    for (const std::uint32_t part : address.version) (*this)(part);
    (*this)(address.checksum), (*this)(address.bytes);
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
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T& value) {
    std::uint32_t number = 0;
    (*this)(number);
    value = static_cast<T>(number);
  }
  template <std::size_t N>
  void operator()(std::array<std::uint8_t, N>& bytes) {
    std::memcpy(bytes.data(), take(N).data(), N);
  }
  void rest() { bytes_ = {}; }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    text = printable(std::string(take(size)));  // people read them
  }
  void operator()(UcxAddress& address) {
    for (std::uint32_t& part : address.version) (*this)(part);
    (*this)(address.checksum);
    std::uint32_t size = 0;
    (*this)(size);
    address.bytes = take(size);
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

/// Whether M is one of these.
template <class M, class... T>
concept MessageOf = (std::same_as<std::remove_const_t<M>, T> || ...);

void fields(auto&& io, MessageOf<Begin, Challenge> auto& m) {
  io(m.version);
  // Of other versions no more is known.
  if (m.version == control_version)
    io(m.nonce);
  else
    io.rest();
}

void fields(auto&& io, MessageOf<Proof> auto& m) { io(m.credential), io(m.mac); }

void fields(auto&& io, MessageOf<Welcome> auto& m) { io(m.mac); }

void fields(auto&& io, MessageOf<Join> auto& m) {
  io(m.job), io(m.group), io(m.worker), io(m.workers);
  io(m.payload_bytes), io(m.message_bytes), io(m.slots);
}

void fields(auto&& io, MessageOf<JoinChallenge> auto& m) { io(m.worker), io(m.nonce); }

void fields(auto&& io, MessageOf<JoinProof> auto& m) { io(m.worker), io(m.signature); }

void fields(auto&& io, MessageOf<Admitted> auto& m) {
  io(m.kind), io(m.number), io(m.epoch), io(m.key), io(m.payload_bytes), io(m.slots), io(m.merges);
  io(m.takes_narrow), io(m.data_address), io(m.ucx_address);
}

void fields(auto&&, MessageOf<Ready, Go> auto&) {}

void fields(auto&& io, MessageOf<StatusRequest> auto& m) { io(m.job), io(m.signature); }

void fields(auto&& io, MessageOf<Refused> auto& m) { io(m.reason), io(m.text); }

void fields(auto&& io, MessageOf<Status> auto& m) { io(m.json); }

void fields(auto&& io, MessageOf<MungeCredential> auto& m) { io(m.credential); }

template <class M>
concept WorkerAddressMessage = std::same_as<std::remove_const_t<M>, WorkerAddress>;

void fields(auto&& io, WorkerAddressMessage auto& m) { io(m.address); }

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
    case Refusal::wrong_key: return "wrong key";
    case Refusal::wrong_user: return "wrong user";
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

void throw_meaningless_message() {
  throw Error(ErrorKind::transport, "a control message that has no meaning here");
}

void MessageReader::append(std::span<const char> bytes) {
  const std::size_t capacity = max_bytes_ + max_read_bytes;
  if (bytes.size() > capacity - buffer_.size())
    throw Error(ErrorKind::transport,
                "more than " + std::to_string(capacity) + " bytes that nobody has taken");
  buffer_.append(bytes.data(), bytes.size());
}

std::optional<Message> MessageReader::next() {
  if (buffer_.size() < prefix_bytes) return std::nullopt;
  std::uint32_t bytes = 0, kind = 0;
  Reader(std::string_view(buffer_).substr(0, 4))(bytes);
  Reader(std::string_view(buffer_).substr(4, 4))(kind);
  if (bytes < prefix_bytes || bytes > max_bytes_)
    throw Error(ErrorKind::transport,
                "what came is no control message of a cohom-aggregator: it would have " +
                    std::to_string(bytes) + " bytes, and they have " +
                    std::to_string(prefix_bytes) + " to " + std::to_string(max_bytes_));
  if (buffer_.size() < bytes) return std::nullopt;
  Reader reader(std::string_view(buffer_).substr(prefix_bytes, bytes - prefix_bytes));
  Message message = decode(kind, reader);
  reader.expect_end();
  buffer_.erase(0, bytes);
  return message;
}

}  // namespace cohom::offload
