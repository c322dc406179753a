#pragma once
// The messages of the control channel (docs/offload-protocol.md). One on the wire: its bytes (32 bits),
// its kind (32 bits), its fields as they stand here; a text is its bytes (32 bits) and itself.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace cohom::offload {

inline constexpr std::uint32_t control_version = 2;
inline constexpr std::size_t most_message_bytes = 1 << 20;  ///< a status of many groups
inline constexpr std::size_t most_request_bytes = 4096;     ///< what a server takes

/// Worker to aggregator: I want to be in this group. A leaf sends one for each of its workers.
struct Join {
  std::uint32_t version = control_version;
  std::string token;
  std::uint64_t job = 0;
  std::uint32_t group = 0;
  std::uint32_t worker = 0;
  std::uint32_t workers = 0;
  std::uint32_t payload_bytes = 0;  ///< most that this worker's path carries in a packet
  std::uint32_t message_bytes = 0;  ///< most words' bytes in an active message; 0: it sends none
  std::uint32_t slots = 0;          ///< most that it has use for
  friend bool operator==(const Join&, const Join&) = default;
};

/// Aggregator to worker, when all workers have joined: so the group's packets are to look.
struct Admitted {
  std::string kind;          ///< "ebpf", "daemon"
  std::uint32_t number = 0;  ///< the aggregator's for the group
  std::uint32_t epoch = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t merges = 0;        ///< a bit for each MergeKind
  std::uint32_t takes_narrow = 0;  ///< 1: contributions may be narrow
  /// ebpf: HOST:PORT; an empty HOST: that of the control channel. daemon: UCX's address in hex.
  std::string data_address;
  friend bool operator==(const Admitted&, const Admitted&) = default;
};

/// Worker to aggregator: the data path works.
struct Ready {
  friend bool operator==(const Ready&, const Ready&) = default;
};

/// Aggregator to worker: everybody is ready, contributions may leave.
struct Go {
  friend bool operator==(const Go&, const Go&) = default;
};

enum class Refusal : std::uint32_t {
  no_resources = 1,
  lock_failed = 2,  ///< try again
  not_supported = 3,
  wrong_token = 4,
  gone = 5,  ///< the group was there and has lost a worker or its parent
};
std::string_view name_of(Refusal refusal);

/// Aggregator to worker; the connection ends behind it.
struct Refused {
  Refusal reason = Refusal::no_resources;
  std::string text;
  friend bool operator==(const Refused&, const Refused&) = default;
};

struct StatusRequest {
  std::string token;
  friend bool operator==(const StatusRequest&, const StatusRequest&) = default;
};

struct Status {
  std::string json;
  friend bool operator==(const Status&, const Status&) = default;
};

/// The kind of a message is its place here, from 1.
using Message = std::variant<Join, Admitted, Ready, Go, Refused, StatusRequest, Status>;

std::string encode(const Message& message);

/// Collects bytes of a connection and cuts them into messages.
class MessageReader {
 public:
  explicit MessageReader(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  void append(std::span<const char> bytes) { buffer_.append(bytes.data(), bytes.size()); }
  /// The next whole message; none: more bytes are needed.
  /// @throws Error(transport) for bytes that are no message.
  std::optional<Message> next();

 private:
  std::size_t most_bytes_;
  std::string buffer_;
};

/// Compares in a time that does not depend on where they differ.
bool same_token(std::string_view given, std::string_view right);

}  // namespace cohom::offload
