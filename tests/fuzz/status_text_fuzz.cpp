// libFuzzer target: what an aggregator, or who plays one, answers when it is asked for its status.
// What `cohom-aggregator status` prints of it is printable and not much longer than the answer;
// what is wrong with it is an Error whose text is short. See scripts/fuzz.

#include "require.hpp"

#include "aggregation/protocol/control_message.hpp"
#include "aggregation/server/status_text.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cohom;
using namespace cohom::offload;
using fuzz::require;

/// A short number, or an element of a list, is a line of its own in indented JSON.
constexpr std::size_t max_bytes_a_byte = 40;
constexpr std::size_t max_error_bytes = 400;

bool is_printable(std::string_view text, bool with_lines) {
  return std::ranges::all_of(
      text, [&](char c) { return (' ' <= c && c <= '~') || (with_lines && c == '\n'); });
}

void print(std::span<const std::string> answers) {
  for (const bool as_json : {false, true}) {
    try {
      const std::string text = status_text(answers, as_json);
      require(is_printable(text, true) &&
              text.size() <= max_bytes_a_byte * answers.size() * answers.front().size());
    } catch (const Error& error) {
      const std::string_view text = error.what();
      require(error.kind() == ErrorKind::transport && is_printable(text, false) &&
              text.size() <= max_error_bytes);
    }
  }
}

/// By itself, and as what was said to the keys of two jobs.
void print(const std::string& answer) {
  const std::vector<std::string> answers(2, answer);
  print(std::span(answers).first(1));
  print(answers);
}

/// As it comes: in a message of the control channel, whose texts are printable.
std::string through_a_message(const std::string& answer) {
  MessageReader reader(max_message_bytes);
  const std::string bytes = encode(Status{answer});
  reader.append(bytes);
  const auto message = reader.next();
  require(message && std::holds_alternative<Status>(*message));
  return std::get<Status>(*message).json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string answer(reinterpret_cast<const char*>(data), size);
  print(answer);
  const std::string taken = through_a_message(answer);
  require(taken.size() == answer.size() && is_printable(taken, false));
  if (taken != answer) print(taken);
  return 0;
}
