// libFuzzer target: what strangers send on a control channel, to a server and to a client. Bytes
// are a message or an Error, however they were cut on their way. A message that came is written as
// it came, and what follows from it is checked: an admission says what it may, and nobody is done
// with a handshake whose other end does not know the token. See scripts/fuzz.

#include "fuzz_input.hpp"
#include "require.hpp"

#include "aggregation/protocol/admission.hpp"
#include "aggregation/protocol/control_message.hpp"
#include "aggregation/protocol/handshake.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace cohom;
using namespace cohom::offload;
using fuzz::FuzzInput;
using fuzz::require;

constexpr const char* token = "the site's";
constexpr std::size_t max_taken = 256;  ///< messages of an input

struct Received {
  std::vector<Message> messages;
  bool wrong = false;  ///< what came behind them is none
  friend bool operator==(const Received&, const Received&) = default;
};

/// The messages of bytes that come in parts of at most `part` bytes.
Received receive(std::span<const char> bytes, std::size_t max_bytes, std::size_t part) {
  Received received;
  MessageReader reader(max_bytes);
  try {
    while (!bytes.empty()) {
      const auto taken = bytes.first(std::min(part, bytes.size()));
      bytes = bytes.subspan(taken.size());
      reader.append(taken);
      while (auto message = reader.next()) received.messages.push_back(std::move(*message));
    }
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::transport);
    received.wrong = true;
  }
  return received;
}

/// As many bytes as the input asks for, mostly with the lengths of messages in front of them.
std::string bytes_of(FuzzInput& input) {
  std::string bytes;
  const bool framed = input.byte() % 4 != 0;
  while (!input.empty()) {
    std::string body;
    const std::size_t size = framed ? input.number(2) % 512 : 512;
    const auto kind = static_cast<char>(framed ? input.byte() : 0);
    while (body.size() < size && !input.empty()) body += static_cast<char>(input.byte());
    body.resize(framed ? size : body.size());
    if (framed) {
      const std::size_t whole = 8 + size;
      bytes +=
          {static_cast<char>(whole & 0xff), static_cast<char>(whole >> 8), 0, 0, kind, 0, 0, 0};
    }
    bytes += body;
  }
  return bytes;
}

/// What is written is what was read.
void check_again(const Message& message) {
  const std::string written = encode(message);
  const Received again = receive(written, max_message_bytes, written.size());
  require(!again.wrong && again.messages.size() == 1 && again.messages[0] == message);
}

void check_fields(const Message& message) {
  if (const auto* const admitted = std::get_if<Admitted>(&message)) {
    const AskedFor asked{.payload_bytes = 8192, .slots = 256};
    try {
      check_admitted(*admitted, asked);
      require(admitted->slots >= 1 && admitted->slots <= asked.slots);
      require(admitted->payload_bytes >= 8 && admitted->payload_bytes <= asked.payload_bytes);
      require(admitted->epoch != 0 && admitted->key != 0 && admitted->number <= 0xffff);
    } catch (const Error& error) {
      require(error.kind() == ErrorKind::transport);
    }
  }
  if (const auto* const own = std::get_if<WorkerAddress>(&message)) {
    try {
      const auto bytes = checked_bytes(own->address, {1, 13, 0}, "worker");
      require(!bytes.empty() && bytes.size() <= max_ucx_address_bytes);
    } catch (const Error&) {
    }
  }
  if (const auto* const refused = std::get_if<Refused>(&message))
    require(!name_of(refused->reason).empty());
}

/// Both ends of a handshake. What one says may come to the other, and what a stranger says as well.
class Handshakes {
 public:
  explicit Handshakes(Credential credential) : client_(token, credential) {}

  /// Lets the honest ends talk for so many messages.
  void honest(int messages) {
    if (messages > 0 && !server_.begun()) challenge_ = server_.challenge(client_.begin());
    if (messages > 1) to_client(challenge_, true);
    if (messages > 2 && proof_) to_server(*proof_, true);
    if (messages > 3 && welcome_) to_client(*welcome_, true);
  }

  [[nodiscard]] bool done() const { return client_.done(); }

  void stranger(const Message& message) {
    to_client(message, false);
    if (const auto* const begin = std::get_if<Begin>(&message); begin && !server_.begun())
      static_cast<void>(server_.challenge(*begin));
    if (const auto* const proof = std::get_if<Proof>(&message)) to_server(*proof, false);
  }

 private:
  void to_client(const Message& message, bool honest) {
    const bool done = client_.done();
    try {
      const auto proof = client_.answer(message);
      if (honest && proof) proof_ = std::get<Proof>(*proof);
    } catch (const Error& error) {
      require(error.kind() == ErrorKind::transport);
    }
    // A stranger cannot know the answer, but may repeat it.
    require(done || honest || !client_.done());
  }
  void to_server(const Proof& proof, bool honest) {
    const auto welcome = server_.judge(proof, token);
    require(honest || !welcome);
    if (welcome) welcome_ = welcome;
  }

  ClientHandshake client_;
  ServerHandshake server_;
  Challenge challenge_;
  std::optional<Proof> proof_;
  std::optional<Welcome> welcome_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const std::uint8_t how = input.byte();
  const std::size_t part = 1 + input.byte() % 64;
  const std::string bytes = bytes_of(input);
  const std::size_t max_bytes = (how & 1) != 0 ? max_request_bytes : max_message_bytes;
  const Received received = receive(bytes, max_bytes, bytes.size());
  require(received == receive(bytes, max_bytes, part));

  Handshakes handshakes((how & 2) != 0 ? Credential::operator_token : Credential::token);
  handshakes.honest(how >> 2 & 3);
  std::size_t taken = 0;
  for (const Message& message : received.messages) {
    check_again(message);
    check_fields(message);
    if (++taken <= max_taken) handshakes.stranger(message);
  }
  if (received.messages.empty()) {
    Handshakes undisturbed(Credential::token);
    undisturbed.honest(4);
    require(undisturbed.done());
  }
  return 0;
}
