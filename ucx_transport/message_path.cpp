#include "ucx_transport/message_path.hpp"

#include "aggregation/net/patient_clock.hpp"
#include "aggregation/protocol/hello.hpp"
#include "aggregation/protocol/narrow.hpp"
#include "base/log.hpp"
#include "ucx_transport/address_probe.hpp"
#include "ucx_transport/check.hpp"
#include "ucx_transport/library_version.hpp"
#include "ucx_transport/message_link.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace cohom::ucx {

namespace {

using namespace std::chrono_literals;
using offload::PathCounters;
using offload::PathSetup;
using offload::PatientClock;
using offload::ReductionSequence;
using offload::SendWindow;

constexpr auto meeting_time = 10ms;  ///< of one meet()
constexpr auto meeting_poll_interval = 100us;
constexpr auto between_checks = 50ms;          ///< of who is late
constexpr auto patience_with_last_sends = 1s;  ///< of a sequence that has its sums
constexpr int max_progress = 64;               ///< before words are cut again

/// How long the aggregator has given no sign.
class Silence {
 public:
  using Time = SendWindow::Time;

  explicit Silence(std::chrono::milliseconds longest) : longest_(longest) {}

  Time now() { return clock_.now(); }
  /// It gave a sign, or had nothing to say.
  void end(Time now) { heard_ = asked_ = now; }
  /// Whether to ask it now whether it is there. Fails where it was silent for too long.
  bool must_ask(Time now) {
    if (now - heard_ > longest_) throw offload::too_silent(longest_);
    if (now - asked_ <= longest_ / 4) return false;
    asked_ = now;
    return true;
  }

 private:
  std::chrono::milliseconds longest_;
  PatientClock clock_;
  Time heard_{}, asked_{};
};

class MessagePath final : public offload::DataPath, private MessageReceiver {
 public:
  MessagePath(const PathSetup& setup, const std::string& transports);
  ~MessagePath() override;
  MessagePath(const MessagePath&) = delete;
  MessagePath& operator=(const MessagePath&) = delete;

  [[nodiscard]] std::optional<offload::UcxAddress> own_address() const override {
    return worker_.sealed_address();
  }
  bool meet() override;
  void enter(ReductionSequence& reductions) override {
    window_of(reductions.round).enter(reductions);
  }
  void leave(const ReductionSequence& reductions) override;
  void progress() override;
  [[nodiscard]] const PathCounters& counters() const override { return counters_; }

 private:
  using Time = SendWindow::Time;

  void take(const cohom_header& packet, std::span<const std::byte> data) noexcept override;
  bool connect();
  void say_hello();
  SendWindow& window_of(std::uint32_t round) { return windows_[round % windows_.size()]; }
  void cut(Time now);
  void put(SendWindow& window, SendWindow::Flight& flight);
  void expect_well() const;
  void check_lateness(Time now);
  void break_off();
  [[nodiscard]] bool waiting() const;

  offload::ClientOptions options_;
  cohom_header blank_;  ///< what all messages have in common
  std::uint32_t number_;
  std::vector<SendWindow> windows_;
  ContextSettings context_settings_;
  Worker worker_;
  offload::UcxAddress server_;
  std::stop_token stop_;
  std::unique_ptr<MessageLink> link_;  ///< null: not connected yet, or broken off
  bool said_hello_ = false, answered_ = false;
  bool over_ = false;  ///< nothing that arrives counts any more
  Silence silence_;
  Time checked_{};  ///< when it was last looked who is late
  PathCounters counters_;
};

/// Tries an aggregator's address in another process, where there is a program for that. Sessions of
/// this process mostly have the same one, so that what was right is not tried again. False: it is
/// to stop.
bool try_address(const offload::UcxAddress& address, const ContextSettings& settings,
                 const std::stop_token& stop) {
  static std::mutex mutex;
  static std::string right;
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock()) {
    if (stop.stop_requested()) return false;
    std::this_thread::sleep_for(between_checks);
  }
  if (right == address.bytes) return true;
  auto program = probe_program();
  if (!program) {
    warn_once_for_all(
        0, "no safe cohom-ucx-probe is there: the UCX address of an aggregator is taken untried");
    return true;
  }
  const auto bytes = std::as_bytes(std::span(address.bytes));
  const std::string why_not = AddressProbe(std::move(*program), settings).why_not(bytes, stop);
  if (stop.stop_requested()) return false;
  if (!why_not.empty())
    throw Error(ErrorKind::transport, "the aggregator's UCX address is none: " + why_not);
  right = address.bytes;
  return true;
}

MessagePath::MessagePath(const PathSetup& setup, const std::string& transports)
    : options_(setup.options),
      blank_(offload::blank_header(setup)),
      number_(setup.admitted.number),
      windows_(offload::send_windows_of(setup.admitted)),
      context_settings_{
          .transports = transports, .features = UCP_FEATURE_AM, .addresses_may_be_wrong = true},
      worker_(context_settings_),
      server_(setup.admitted.ucx_address),
      stop_(setup.stop),
      silence_(options_.silence) {
  receive_messages(worker_, *this);
}

MessagePath::~MessagePath() { break_off(); }

bool MessagePath::meet() {
  if (!said_hello_ && !connect()) return false;
  if (!said_hello_) say_hello();
  const auto end = std::chrono::steady_clock::now() + meeting_time;
  while (!answered_ && std::chrono::steady_clock::now() < end) {
    expect_well();
    if (!worker_.progress()) std::this_thread::sleep_for(meeting_poll_interval);
  }
  return answered_;
}

/// False: it is to stop.
bool MessagePath::connect() {
  const auto address = checked_bytes(server_, library_version(), "the aggregator");
  if (!try_address(server_, context_settings_, stop_)) return false;
  link_ = std::make_unique<MessageLink>(worker_, address);
  log_once("aggregator of kind daemon: reached by " + link_->path_text());
  return true;
}

/// The address has gone by the control channel.
void MessagePath::say_hello() {
  said_hello_ = true;
  cohom_header hello = blank_;
  hello.kind = cohom_hello;
  hello.call = number_;
  link_->send(hello, {});
}

/// In a session that is not over the sequence has all its sums, so that the aggregator has all its
/// words, though UCX may not have told so yet.
void MessagePath::leave(const ReductionSequence& reductions) {
  window_of(reductions.round).leave(reductions);
  if (reductions.completed != reductions.started) over_ = true;
  const auto deadline = std::chrono::steady_clock::now() + patience_with_last_sends;
  while (reductions.leaving != 0 && !over_ && std::chrono::steady_clock::now() < deadline)
    worker_.progress();
  if (reductions.leaving != 0) break_off();
}

void MessagePath::break_off() {
  over_ = true;
  link_.reset();
}

void MessagePath::progress() {
  expect_well();
  const Time now = silence_.now();
  if (!waiting()) silence_.end(now);
  cut(now);
  for (int i = 0; i < max_progress && worker_.progress(); ++i) cut(now);
  if (now - checked_ > between_checks) check_lateness(now);
}

void MessagePath::expect_well() const {
  const ucs_status_t status = link_ ? link_->failure() : UCS_ERR_NOT_CONNECTED;
  if (status != UCS_OK)
    throw Error(ErrorKind::transport,
                "the connection has broken: " + std::string(ucs_status_string(status)));
}

bool MessagePath::waiting() const {
  return std::ranges::any_of(windows_,
                             [](const SendWindow& window) { return window.under_way() != 0; });
}

/// As many as there are free slots.
void MessagePath::cut(Time now) {
  for (SendWindow& window : windows_)
    while (SendWindow::Flight* const flight = window.cut()) {
      flight->first_sent = now;
      put(window, *flight);
    }
}

/// Of a narrow contribution those of the blocks that the flight's words are of in the sum.
std::span<const std::uint64_t> words_of(const SendWindow::Flight& flight) {
  const ReductionSequence::Sum& sum = *flight.sum;
  if (sum.promotion == nullptr) return {sum.contribution + flight.offset, flight.words};
  const std::size_t wide = offload::wide_block_words(*sum.promotion);
  const std::size_t narrow = offload::narrow_block_words(*sum.promotion);
  const std::size_t begin = flight.offset / wide * narrow;
  const bool last = flight.offset + flight.words == sum.words;
  const std::size_t end = last ? sum.narrow_words : begin + flight.words / wide * narrow;
  return {sum.contribution + begin, end - begin};
}

void MessagePath::put(SendWindow& window, SendWindow::Flight& flight) {
  cohom_header header = blank_;
  window.describe(flight, header);
  link_->send(header, std::as_bytes(words_of(flight)), {}, &flight.reductions->leaving,
              flight.sum->promotion);
  ++counters_.sent;
}

void MessagePath::take(const cohom_header& packet, std::span<const std::byte> data) noexcept {
  if (over_) return;
  if (packet.magic != blank_.magic || packet.version != blank_.version ||
      packet.job != blank_.job || packet.epoch != blank_.epoch || packet.key != blank_.key ||
      packet.group != blank_.group || packet.worker != blank_.worker) {
    ++counters_.foreign;
    return;
  }
  silence_.end(silence_.now());
  switch (packet.kind) {
    case cohom_hello_answer: answered_ = true; return;
    case cohom_waiting: ++counters_.waiting; return;
    case cohom_sum: break;
    default: return;
  }
  SendWindow& window = window_of(packet.round);
  SendWindow::Flight* const flight = window.find(packet);
  if (flight == nullptr || data.size() != 8u * packet.words) {
    ++counters_.stale;
    return;
  }
  window.complete(*flight, data);
  ++counters_.sums;
}

/// Ranks may be late for long; the aggregator says at once that it is there.
void MessagePath::check_lateness(Time now) {
  checked_ = now;
  for (SendWindow& window : windows_)
    if (const SendWindow::Flight* const oldest = window.oldest();
        oldest != nullptr && now - oldest->first_sent > options_.lateness)
      throw offload::too_late(options_.lateness);
  if (!silence_.must_ask(now)) return;
  cohom_header question = blank_;
  question.kind = cohom_waiting;
  link_->send(question, {});
}

}  // namespace

std::unique_ptr<offload::DataPath> make_message_path(const PathSetup& setup,
                                                     const std::string& transports) {
  return std::make_unique<MessagePath>(setup, transports);
}

}  // namespace cohom::ucx
