#include "offload/slot_engine.hpp"

#include <cohom/error.hpp>

#include <algorithm>

namespace cohom::offload {

namespace {

/// Rounds have lines of their own, so that a payload never waits for an agreement of its own call that
/// depends on it. All ranks cut a group's slots alike.
constexpr std::uint32_t most_lines = 4;

/// A longer time between two looks does not count.
constexpr std::chrono::milliseconds longest_look{1};

constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) +
         " s";
}

}  // namespace

SlotEngine::SlotEngine(std::shared_ptr<Session> session, const GroupMembership& membership,
                       const ClientOptions& options)
    : session_(std::move(session)), options_(options) {
  const Admitted& admitted = session_->admitted;
  const std::uint32_t lines = std::min(most_lines, admitted.slots);
  const std::uint32_t slots = admitted.slots / lines;
  for (std::uint32_t i = 0; i < lines; ++i)
    lines_.emplace_back(i * slots, slots, admitted.payload_bytes / 8);
  blank_.magic = cohom_magic;
  blank_.version = cohom_packet_version;
  blank_.job = membership.job;
  blank_.group = admitted.number;
  blank_.epoch = admitted.epoch;
  blank_.worker = static_cast<__u16>(membership.rank);
}

void SlotEngine::enter(ReductionStream& stream) { line_of(stream.round).enter(stream); }

void SlotEngine::leave(const ReductionStream& stream) { line_of(stream.round).leave(stream); }

SlotEngine::Time SlotEngine::look_at_clock() {
  const auto now = std::chrono::steady_clock::now();
  clock_ += std::min<Time>(now - last_look_, longest_look);
  last_look_ = now;
  return clock_;
}

std::size_t SlotEngine::under_way() const {
  std::size_t count = 0;
  for (const SlotLine& line : lines_) count += line.under_way();
  return count;
}

void SlotEngine::progress() {
  if (session_->over()) return;
  try {
    const Time now = look_at_clock();
    if (under_way() == 0) heard_ = now;
    const bool news = receive(now);
    // Only now that everything that came is taken is it known what did not come.
    if (news || now >= next_due_) find_lost(now);
    cut_packets(now);
    send(now);
    check_silence(now);
  } catch (const Error& error) {
    session_->end(error.what());
  }
}

/// Whether anything came.
bool SlotEngine::receive(Time now) {
  bool any = false;
  while (true) {
    const auto packets = session_->socket.receive();
    for (const auto& packet : packets) take(packet, now);
    any |= !packets.empty();
    if (packets.size() < PacketSocket::batch) return any;
  }
}

void SlotEngine::take(const PacketSocket::Arrived& packet, Time now) {
  const cohom_header& header = packet.header;
  if (header.magic != cohom_magic || header.version != cohom_packet_version ||
      header.job != blank_.job || header.group != blank_.group || header.epoch != blank_.epoch ||
      header.worker != blank_.worker)
    return;
  heard_ = now;
  if (header.kind == cohom_waiting) {
    ++counters_.waiting;
    return;
  }
  if (header.kind != cohom_sum || packet.words.size() != header.words) return;
  SlotLine& line = line_of(header.round);
  SlotLine::Flight* const flight = line.find(header);
  if (flight == nullptr) {
    ++counters_.stale;
    return;
  }
  if (flight->tries == 1) round_trip_.sample(now - flight->sent);
  line.finish(*flight, packet.words);
  ++counters_.sums;
}

/// Sends again what was overtaken, once, and what is due.
void SlotEngine::find_lost(Time now) {
  next_due_ = never;
  for (SlotLine& line : lines_) {
    if (line.under_way() == 0) continue;
    for (SlotLine::Flight& flight : line.flights()) {
      if (flight.stream == nullptr) continue;
      if (now - flight.first_sent > options_.lateness)
        throw Error(ErrorKind::transport,
                    "a rank has not contributed within " + seconds_text(options_.lateness));
      const bool hurry = !flight.hurried && line.overtaken(flight);
      if (hurry || now >= flight.due) {
        flight.hurried |= hurry;
        counters_.repeated += flight.tries != 0;
        put(line, flight, now);
      }
      next_due_ = std::min(next_due_, flight.due);
    }
  }
}

void SlotEngine::cut_packets(Time now) {
  for (SlotLine& line : lines_) {
    while (SlotLine::Flight* const flight = line.cut()) {
      flight->first_sent = now;
      put(line, *flight, now);
      next_due_ = std::min(next_due_, flight->due);
    }
  }
}

void SlotEngine::put(SlotLine& line, SlotLine::Flight& flight, Time now) {
  ++flight.tries;
  flight.sent = now;
  flight.due = now + round_trip_.timeout(flight.tries);
  OutgoingPacket packet{blank_, flight.sum->contribution + flight.offset};
  line.describe(flight, packet.header);
  outgoing_.push_back(packet);
  outgoing_flights_.push_back(&flight);
}

/// What the system does not take now is due at once: its words may not be there later.
void SlotEngine::send(Time now) {
  std::size_t sent = 0;
  while (sent < outgoing_.size()) {
    const std::size_t taken = session_->socket.send(std::span(outgoing_).subspan(sent));
    if (taken == 0) break;
    sent += taken;
  }
  counters_.sent += sent;
  for (std::size_t i = sent; i < outgoing_.size(); ++i) {
    --outgoing_flights_[i]->tries;
    outgoing_flights_[i]->due = next_due_ = now;
  }
  outgoing_.clear();
  outgoing_flights_.clear();
}

void SlotEngine::check_silence(Time now) const {
  if (under_way() != 0 && now - heard_ > options_.silence)
    throw Error(ErrorKind::transport,
                "the aggregator has been silent for " + seconds_text(options_.silence));
}

}  // namespace cohom::offload
