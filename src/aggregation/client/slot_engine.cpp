#include "aggregation/client/slot_engine.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom::offload {

SlotEngine::SlotEngine(PacketSocket& socket, const PathSetup& setup)
    : socket_(socket),
      options_(setup.options),
      blank_(blank_header(setup)),
      windows_(send_windows_of(setup.admitted)),
      patience_(windows_.size()),
      recovery_(windows_.size()) {}

void SlotEngine::enter(ReductionSequence& reductions) {
  windows_[index_of(reductions.round)].enter(reductions);
}

void SlotEngine::leave(const ReductionSequence& reductions) {
  windows_[index_of(reductions.round)].leave(reductions);
}

std::size_t SlotEngine::under_way() const {
  std::size_t count = 0;
  for (const SendWindow& window : windows_) count += window.under_way();
  return count;
}

void SlotEngine::progress() {
  const Time now = clock_.now();
  if (under_way() == 0) heard_ = now;
  const bool news = receive(now);
  // Only now that everything that came is taken is it known what did not come.
  if (news || unsent_) send_lost(now);
  for (std::size_t window = 0; window < windows_.size(); ++window) send_due(window, now);
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
      header.job != blank_.job || header.epoch != blank_.epoch || header.key != blank_.key ||
      header.group != blank_.group || header.worker != blank_.worker) {
    ++counters_.foreign;
    return;
  }
  heard_ = now;
  const std::size_t index = index_of(header.round);
  SendWindow& window = windows_[index];
  SendWindow::Flight* const flight = window.find(header);
  if (header.kind == cohom_waiting) {
    ++counters_.waiting;
    if (flight != nullptr) flight->waited = true;
    return;
  }
  if (header.kind != cohom_sum || packet.words.size() != header.words) return;
  if (flight == nullptr) {
    ++counters_.stale;
    return;
  }
  learn_from(*flight, index, now);
  window.complete(*flight, std::as_bytes(packet.words));
  restart(index, now);
  ++counters_.sums;
}

/// What a packet's sum says about the network.
void SlotEngine::learn_from(const SendWindow::Flight& flight, std::size_t window, Time now) {
  Recovery& recovery = recovery_[window];
  recovery.credit += 2;
  if (flight.tries == 1) return round_trip_.sample(now - flight.sent);
  if (flight.hurried || flight.waited) return;
  // So soon it answers what was sent before: late, but not lost.
  if (now - flight.sent < round_trip_.mean() / 2) return;
  windows_[window].lost(flight);
  recovery.lost_before = flight.sent;
}

void SlotEngine::restart(std::size_t window, Time now) {
  patience_[window] = {.due = now + round_trip_.timeout(1)};
}

/// Sends again, once, what was lost; and what the system did not take.
void SlotEngine::send_lost(Time now) {
  unsent_ = false;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    SendWindow& window = windows_[i];
    std::size_t credit = std::exchange(recovery_[i].credit, 0);
    if (window.under_way() == 0) continue;
    for (SendWindow::Flight& flight : window.flights()) {
      if (flight.reductions == nullptr) continue;
      if (flight.tries != 0) {
        if (flight.hurried) continue;
        const bool overtaken = window.overtaken(flight);
        const bool behind = credit != 0 && flight.sent < recovery_[i].lost_before;
        if (!overtaken && !behind) continue;
        if (overtaken) window.lost(flight);
        if (!overtaken) --credit;
        flight.hurried = true;
      }
      put(window, flight, now);
    }
  }
}

/// When nothing moves, the oldest packet alone finds out why: it is answered by its sum, or by word
/// that a rank is late, which is then true of all behind it.
void SlotEngine::send_due(std::size_t window, Time now) {
  Patience& patience = patience_[window];
  if (windows_[window].under_way() == 0 || now < patience.due) return;
  SendWindow::Flight& oldest = *windows_[window].oldest();
  if (now - oldest.first_sent > options_.lateness) throw too_late(options_.lateness);
  patience.due = now + round_trip_.timeout(++patience.tries);
  put(windows_[window], oldest, now);
}

void SlotEngine::cut_packets(Time now) {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const bool idle = windows_[i].under_way() == 0;
    while (SendWindow::Flight* const flight = windows_[i].cut()) {
      flight->first_sent = now;
      put(windows_[i], *flight, now);
    }
    if (idle) restart(i, now);
  }
}

void SlotEngine::put(SendWindow& window, SendWindow::Flight& flight, Time now) {
  counters_.repeated += flight.tries != 0;
  ++flight.tries;
  flight.sent = now;
  OutgoingPacket packet{blank_, flight.sum->contribution + flight.offset};
  window.describe(flight, packet.header);
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
