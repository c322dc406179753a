#pragma once
// The messages of the control channel (docs/offload-protocol.md). One on the wire: its bytes (32
// bits), its kind (32 bits), its fields as they stand here; a text is its bytes (32 bits) and
// itself.

#include "aggregation/auth/cryptography.hpp"
#include "aggregation/protocol/ucx_address.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace cohom::offload {

inline constexpr std::uint32_t control_version = 3;
inline constexpr std::size_t max_message_bytes = 1 << 20;  ///< a status of many groups
inline constexpr std::size_t max_request_bytes =
    4096 + max_ucx_address_bytes;  ///< what a server takes

// A connection begins with these. The server takes nothing else before the client's proof is
// right, and the client says nothing else before the server's is.

/// Client to server. All versions have this kind, and begin with their number.
struct Begin {
  std::uint32_t version = control_version;
  Nonce nonce{};  ///< of version 3
  friend bool operator==(const Begin&, const Begin&) = default;
};

/// Server to client.
struct Challenge {
  std::uint32_t version = control_version;
  Nonce nonce{};
  friend bool operator==(const Challenge&, const Challenge&) = default;
};

/// By what a client proves that it may.
enum class Credential : std::uint32_t { token = 0, operator_token = 1 };

/// Client to server: a MAC of both nonces.
struct Proof {
  Credential credential = Credential::token;
  Mac mac{};
  friend bool operator==(const Proof&, const Proof&) = default;
};

/// Server to client: the same, with another label.
struct Welcome {
  Mac mac{};
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

/// In place of Proof and Welcome, where munge is the way: who this side is, says its munged.
struct MungeCredential {
  std::string credential;
  friend bool operator==(const MungeCredential&, const MungeCredential&) = default;
};

/// Worker to aggregator: I want to be in this group. A leaf sends one for each of its workers.
struct Join {
  PublicKey job{};
  std::uint32_t group = 0;
  std::uint32_t worker = 0;
  std::uint32_t workers = 0;
  std::uint32_t payload_bytes = 0;  ///< most that this worker's path carries in a packet
  std::uint32_t message_bytes = 0;  ///< most words' bytes in an active message; 0: it sends none
  std::uint32_t slots = 0;          ///< most that it has use for
  friend bool operator==(const Join&, const Join&) = default;
};

/// Aggregator to worker: prove that you are of the job. Each aggregator up to the root asks once.
struct JoinChallenge {
  std::uint32_t worker = 0;
  Nonce nonce{};
  friend bool operator==(const JoinChallenge&, const JoinChallenge&) = default;
};

/// Worker to aggregator: the job's signature of join_statement().
struct JoinProof {
  std::uint32_t worker = 0;
  Signature signature{};
  friend bool operator==(const JoinProof&, const JoinProof&) = default;
};

/// Aggregator to worker, when all workers have joined: so the group's packets are to look.
struct Admitted {
  std::string kind;          ///< "ebpf", "daemon"
  std::uint32_t number = 0;  ///< the aggregator's for the group
  std::uint64_t epoch = 0;
  std::uint64_t key = 0;  ///< this member's own, in everything between it and the aggregator
  std::uint32_t payload_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t merges = 0;        ///< a bit for each MergeKind
  std::uint32_t takes_narrow = 0;  ///< 1: contributions may be narrow
  /// ebpf: HOST:PORT; an empty HOST: that of the control channel. daemon: empty.
  std::string data_address;
  UcxAddress ucx_address;  ///< daemon: its own. ebpf: empty
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
  wrong_key = 6,
  wrong_user = 7,  ///< munge knows who it is, and that is nobody who may
};
std::string_view name_of(Refusal refusal);

/// Aggregator to worker; the connection ends behind it. All versions have this kind.
struct Refused {
  Refusal reason = Refusal::no_resources;
  std::string text;
  friend bool operator==(const Refused&, const Refused&) = default;
};

/// Client to server. With a job's key, and its signature of status_statement(): how that job is.
struct StatusRequest {
  PublicKey job{};
  Signature signature{};
  friend bool operator==(const StatusRequest&, const StatusRequest&) = default;
};

struct Status {
  std::string json;
  friend bool operator==(const Status&, const Status&) = default;
};

/// Worker to aggregator of kind daemon, once, before it says hello: where UCX reaches it.
struct WorkerAddress {
  UcxAddress address;
  friend bool operator==(const WorkerAddress&, const WorkerAddress&) = default;
};

/// The kind of a message is its place here, from 1.
using Message =
    std::variant<Begin, Challenge, Proof, Welcome, Refused, Join, JoinChallenge, JoinProof,
                 Admitted, Ready, Go, StatusRequest, Status, WorkerAddress, MungeCredential>;

std::string encode(const Message& message);

/// For a message that nobody may send now. @throws Error(transport)
[[noreturn]] void throw_meaningless_message();

/// What one Connection::read() takes at most.
inline constexpr std::size_t max_read_bytes = 1 << 16;

/// Collects bytes of a connection and cuts them into messages.
class MessageReader {
 public:
  explicit MessageReader(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  /// Take the whole messages out before the next read.
  /// @throws Error(transport) for more bytes than a message and a read have.
  void append(std::span<const char> bytes);
  /// The next whole message; none: more bytes are needed.
  /// @throws Error(transport) for bytes that are no message.
  std::optional<Message> next();

 private:
  std::size_t max_bytes_;
  std::string buffer_;
};

}  // namespace cohom::offload
