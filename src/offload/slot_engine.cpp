#include "offload/slot_engine.hpp"

#include <cohom/error.hpp>

#include <algorithm>

namespace cohom::offload {

SlotEngine::SlotEngine(PacketSocket& socket, const PathSetup& setup)
    : socket_(socket),
      options_(setup.options),
      blank_(blank_header(setup)),
      lines_(lines_of(setup.admitted)),
      patience_(lines_.size()) {}

void SlotEngine::enter(ReductionStream& stream) { lines_[index_of(stream.round)].enter(stream); }

void SlotEngine::leave(const ReductionStream& stream) {
  lines_[index_of(stream.round)].leave(stream);
}

std::size_t SlotEngine::under_way() const {
  std::size_t count = 0;
  for (const SlotLine& line : lines_) count += line.under_way();
  return count;
}

void SlotEngine::progress() {
  const Time now = clock_.look();
  if (under_way() == 0) heard_ = now;
  const bool news = receive(now);
  // Only now that everything that came is taken is it known what did not come.
  if (news || unsent_) send_overtaken(now);
  for (std::size_t line = 0; line < lines_.size(); ++line) send_due(line, now);
  cut_packets(now);
  send();
  check_silence(now);
}

/// Whether anything came.
bool SlotEngine::receive(Time now) {
  bool any = false;
  while (true) {
    const auto packets = socket_.receive();
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
  const std::size_t index = index_of(header.round);
  SlotLine& line = lines_[index];
  SlotLine::Flight* const flight = line.find(header);
  if (flight == nullptr) {
    ++counters_.stale;
    return;
  }
  if (flight->tries == 1) round_trip_.sample(now - flight->sent);
  line.finish(*flight, std::as_bytes(packet.words));
  restart(index, now);
  ++counters_.sums;
}

void SlotEngine::restart(std::size_t line, Time now) {
  patience_[line] = {.due = now + round_trip_.timeout(1)};
}

/// Sends again what was overtaken, once, and what the system did not take.
void SlotEngine::send_overtaken(Time now) {
  unsent_ = false;
  for (SlotLine& line : lines_) {
    if (line.under_way() == 0) continue;
    for (SlotLine::Flight& flight : line.flights()) {
      if (flight.stream == nullptr) continue;
      const bool hurry = !flight.hurried && line.overtaken(flight);
      if (!hurry && flight.tries != 0) continue;
      flight.hurried |= hurry;
      put(line, flight, now);
    }
  }
}

/// When nothing moves, the oldest packet alone finds out why: it is answered by its sum, or by word that
/// a rank is late, which is then true of all behind it.
void SlotEngine::send_due(std::size_t line, Time now) {
  Patience& patience = patience_[line];
  if (lines_[line].under_way() == 0 || now < patience.due) return;
  SlotLine::Flight& oldest = *lines_[line].oldest();
  if (now - oldest.first_sent > options_.lateness) throw too_late(options_.lateness);
  patience.due = now + round_trip_.timeout(++patience.tries);
  put(lines_[line], oldest, now);
}

void SlotEngine::cut_packets(Time now) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const bool idle = lines_[i].under_way() == 0;
    while (SlotLine::Flight* const flight = lines_[i].cut()) {
      flight->first_sent = now;
      put(lines_[i], *flight, now);
    }
    if (idle) restart(i, now);
  }
}

void SlotEngine::put(SlotLine& line, SlotLine::Flight& flight, Time now) {
  counters_.repeated += flight.tries != 0;
  ++flight.tries;
  flight.sent = now;
  OutgoingPacket packet{blank_, flight.sum->contribution + flight.offset};
  line.describe(flight, packet.header);
  outgoing_.push_back(packet);
  outgoing_flights_.push_back(&flight);
}

/// What the system does not take now is put again next time: its words may not be there any more.
void SlotEngine::send() {
  std::size_t sent = 0;
  while (sent < outgoing_.size()) {
    const std::size_t taken = socket_.send(std::span(outgoing_).subspan(sent));
    if (taken == 0) break;
    sent += taken;
  }
  counters_.sent += sent;
  for (std::size_t i = sent; i < outgoing_.size(); ++i) --outgoing_flights_[i]->tries;
  unsent_ |= sent != outgoing_.size();
  outgoing_.clear();
  outgoing_flights_.clear();
}

void SlotEngine::check_silence(Time now) const {
  if (under_way() != 0 && now - heard_ > options_.silence) throw too_silent(options_.silence);
}

}  // namespace cohom::offload
