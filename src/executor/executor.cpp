#include "executor/executor.hpp"

#include "base/tags.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace cohom {

namespace {

/// User memory is aligned to its elements only; words must be aligned to 8 bytes.
bool holds_words(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignof(std::uint64_t) == 0;
}

bool encode(RoundRun& round) { return round.encode_for_send() || round.encode_for_merge(); }

}  // namespace

Executor::Executor(const ExecutorSetup& setup)
    : crew_(setup.workers, setup.tuning.takes_back),
      factory_(setup, crew_),
      chunking_(factory_.make_chunking(factory_.payload(), setup.elements)),
      workspace_(setup.take_memory),
      offloaded_({.aggregator = setup.aggregator,
                  .kernels = setup.kernels,
                  .rank = setup.place.rank,
                  .ranks = setup.place.ranks,
                  .message_bytes = setup.message_bytes}),
      fallback_(factory_) {
  setup.codec->reserve(setup.elements, chunking_.longest_piece());
  own_chunking_.resize(factory_.rounds());
  skipped_.resize(factory_.rounds());
  for (std::size_t r = 0; r < factory_.rounds(); ++r) {
    rounds_.push_back(nullptr);
    const RoundTraits& traits = factory_.traits(r);
    if (traits.is_fallback()) continue;
    // What comes after the payload and reads no agreement can be cut as its own algorithm wants it.
    auto& own = own_chunking_[r];
    if (traits.time == RoundTime::behind_payload)
      own = std::make_unique<Chunking>(factory_.make_chunking(r, setup.elements));
    rounds_.back() = factory_.make(r, own ? *own : chunking_);
    workspace_.add(*rounds_.back());
    if (rounds_.back()->offloads())
      offloaded_.add(static_cast<int>(r), traits.merge, *rounds_.back());
  }
}

void Executor::begin(const CallBuffers& buffers, Channel& channel, Profile* profile,
                     bool may_give_up) {
  crew_.begin(profile);
  call_ = {buffers, &channel, profile, may_give_up};
  call_.buffers.pieces = chunking_.pieces();
  uses_users_memory_ = false;
  released_ = false;
  fallback_.begin();
  Codec& codec = *factory_.setup().codec;
  codec.begin(call_.buffers);
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    skipped_[r] = rounds_[r] && codec.skips(factory_.round(r));
    if (running(r) != nullptr) begin_round(r);
  }
}

void Executor::end() {
  stop();
  offloaded_.end();
  uses_users_memory_ = false;
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (fallback_.runs(r)) rounds_[r].reset();
  fallback_.end();
}

/// A round that takes part in the call in flight; null for what it skips and what has not started.
RoundRun* Executor::running(std::size_t round) const {
  return skipped_[round] ? nullptr : rounds_[round].get();
}

void Executor::begin_round(std::size_t number) {
  RoundRun& round = *rounds_[number];
  const RoundTraits& traits = factory_.traits(number);
  RoundCall call{.channel = call_.channel, .profile = call_.profile};
  if (!traits.is_fallback()) {
    // Piece by piece. Fallback rounds start when everything is agreed, and others after the
    // payload read no agreement.
    if (traits.time != RoundTime::behind_payload && !traits.independent)
      call.earlier = std::span(rounds_).first(number);
    call.hold_sends = traits.time == RoundTime::payload && decoding_waits_for_vector();
    lend_users_memory(round, traits, call);
  }
  if (round.offloads() && traits.narrow())
    if (const auto promotion = factory_.round(number).promotion();
        promotion && factory_.setup().aggregator->takes_narrow(*promotion))
      call.promotion = promotion;
  round.begin(call);
}

void Executor::lend_users_memory(const RoundRun& round, const RoundTraits& traits,
                                 RoundCall& call) {
  call.in_place = call_.buffers.input == call_.buffers.output;
  // A device's words travel from memory that the transport knows beforehand.
  if (!factory_.setup().memory->is_host() || goes_on_behind_call(round)) return;
  // An aggregator needs contributions to the end of the call, or overwrites them.
  const bool from_input = !round.offloads() || (round.keeps_contributions() && !call.in_place);
  if (traits.identity != Identity::none && from_input && holds_words(call_.buffers.input))
    call.input = static_cast<const std::byte*>(call_.buffers.input);
  // In place, a receive posted into the output would lie over input that is still to be read.
  if (traits.identity == Identity::encoding_and_decoding && !call.in_place &&
      holds_words(call_.buffers.output))
    call.output = static_cast<std::byte*>(call_.buffers.output);
  uses_users_memory_ |= call.input != nullptr || call.output != nullptr;
}

/// Whether the round's messages or reductions may outlive a call that gives up.
bool Executor::goes_on_behind_call(const RoundRun& round) const {
  if (!call_.may_give_up) return false;
  return !call_.channel->ends_at_once() ||
         (round.offloads() && !factory_.setup().aggregator->may_fail());
}

/// Whether a number of the whole vector is what decoding waits for, and encoding does not.
bool Executor::decoding_waits_for_vector() const {
  for (std::size_t r = 0; r < payload(); ++r) {
    const RoundTraits& traits = factory_.traits(r);
    if (traits.needed_by == NeededBy::decoding && traits.scope == RoundScope::vector &&
        running(r) != nullptr && !running(r)->all_agreed())
      return true;
  }
  return false;
}

void Executor::release() {
  released_ = true;
  offloaded_.begin(*call_.channel, skipped_);
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (RoundRun* round = running(r)) round->release(offloaded_.reduction(static_cast<int>(r)));
}

void Executor::complete(const Completion& completion) {
  if (offloaded_.owns(completion.cookie)) return offloaded_.complete(completion);
  rounds_[std::size_t(round_of_cookie(completion.cookie))]->complete(completion);
}

std::size_t Executor::pending_sends() const {
  std::size_t count = 0;
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (const RoundRun* round = running(r)) count += round->pending_sends();
  return count;
}

/// Keep the wire busy first; then what unblocks other ranks; then agreement, which unblocks
/// everyone's payload; decoding delays nobody but this rank.
bool Executor::work() {
  using Work = bool (Executor::*)();
  static constexpr std::array<Work, 9> by_priority{&Executor::keep_wire_busy,
                                                   &Executor::encode_dependent_agreements,
                                                   &Executor::merge,
                                                   &Executor::encode_agreements,
                                                   &Executor::fill_wire,
                                                   &Executor::encode_for_merge,
                                                   &Executor::encode_behind_payload,
                                                   &Executor::decode,
                                                   &Executor::encode_ahead};
  return std::ranges::any_of(by_priority, [&](Work slice) { return (this->*slice)(); });
}

bool Executor::encode_payload_while_sends_below(std::size_t limit) {
  RoundRun* const round = running(payload());
  return round != nullptr && pending_sends() < limit && round->encode_for_send();
}

bool Executor::keep_wire_busy() {
  return encode_payload_while_sends_below(factory_.setup().tuning.low_sends);
}

/// Rounds after the first one, most of which agree on what an earlier one found, are short, and
/// all ranks' decoding may wait for the last of them.
bool Executor::encode_dependent_agreements() { return any(1, payload(), encode); }

bool Executor::merge() {
  return any(0, rounds_.size(), [](RoundRun& round) { return round.merge_one(); });
}

bool Executor::encode_agreements() { return any(0, payload(), encode); }

bool Executor::fill_wire() {
  const auto peers = static_cast<std::size_t>(std::max(1, factory_.setup().place.ranks - 1));
  return encode_payload_while_sends_below(factory_.setup().tuning.sends_per_peer * peers);
}

bool Executor::encode_for_merge() {
  RoundRun* const round = running(payload());
  return round != nullptr && round->encode_for_merge();
}

bool Executor::encode_behind_payload() { return any(payload() + 1, rounds_.size(), encode); }

bool Executor::decode() {
  return any(0, rounds_.size(), [](RoundRun& round) { return round.decode_one(); });
}

bool Executor::encode_ahead() {
  return encode_payload_while_sends_below(std::numeric_limits<std::size_t>::max());
}

/// The messages in which ranks agree are short, and all decoding waits for them. On a slow network
/// they would queue behind all of the payload, so half of it stays here until they have passed.
void Executor::release_sends() {
  RoundRun* const round = running(payload());
  if (round != nullptr && round->holds_sends() && !decoding_waits_for_vector())
    round->release_sends();
}

bool Executor::advance() {
  const bool collected = crew_.collect();
  release_sends();
  const bool moved = (released_ && offloaded_.poll(call_.profile)) || collected;
  return work() || moved || crew_.help();
}

bool Executor::done() const {
  if (!released_ || !fallback_.decided() || !offloaded_.outcome_agreed()) return false;
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (running(r) != nullptr && !running(r)->done()) return false;
  return true;
}

bool Executor::fallback_rounds_due() const {
  if (!released_ || fallback_.decided()) return false;
  if (fallback_.wait_for_payload()) return !running(payload()) || running(payload())->done();
  for (std::size_t r = 0; r < payload(); ++r)
    if (running(r) != nullptr && !running(r)->all_agreed()) return false;
  return true;
}

void Executor::start_fallback_rounds() {
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    auto round = fallback_.take(r);
    if (!round) continue;
    rounds_[r] = std::move(round);
    begin_round(r);
    rounds_[r]->release();
  }
}

}  // namespace cohom
