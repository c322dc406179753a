#include "executor/executor.hpp"

#include "base/tags.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {

namespace {

/// User memory is aligned to its elements only; words must be aligned to 8 bytes.
bool holds_words(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignof(std::uint64_t) == 0;
}

}  // namespace

Executor::Executor(const ExecutorSetup& setup)
    : setup_(setup),
      payload_(setup.codec->payload_round()),
      chunking_(make_chunking(payload_, *setup.algorithm, setup.elements)),
      offloaded_({.aggregator = setup.aggregator,
                  .kernels = setup.kernels,
                  .rank = setup.rank,
                  .ranks = setup.ranks,
                  .message_bytes = setup.message_bytes}) {
  setup_.codec->reserve(setup_.elements, chunking_.longest_piece());
  const auto infos = setup_.codec->rounds();
  own_chunking_.resize(infos.size());
  skipped_.resize(infos.size());
  for (int round = 0; round < static_cast<int>(infos.size()); ++round) {
    rounds_.push_back(nullptr);
    late_wait_for_payload_ |= infos[std::size_t(round)].after_payload;
    if (infos[std::size_t(round)].scope == RoundScope::late) continue;
    const AlgorithmRow& algorithm = algorithm_of(round);
    // What lies behind the payload and reads no agreement can be cut as its own algorithm wants it.
    auto& own = own_chunking_[std::size_t(round)];
    if (round > payload_)
      own = std::make_unique<Chunking>(make_chunking(round, algorithm, setup_.elements));
    rounds_.back() = make_round(round, algorithm, own ? *own : chunking_);
    if (rounds_.back()->offloads())
      offloaded_.add(round, infos[std::size_t(round)].merge, *rounds_.back());
  }
  take_workspaces();
  late_.resize(rounds_.size());
}

void Executor::take_workspaces() {
  std::size_t words = 0;
  for (int r = 0; r < static_cast<int>(rounds_.size()); ++r)
    if (rounds_[std::size_t(r)] && !lies_apart(r))
      words += rounds_[std::size_t(r)]->workspace_words();
  workspace_ = {host_memory(), words};
  std::uint64_t* next = workspace_.data();
  for (int r = 0; r < static_cast<int>(rounds_.size()); ++r) {
    RoundRun* const round = rounds_[std::size_t(r)].get();
    if (round == nullptr) continue;
    if (lies_apart(r)) {
      apart_workspace_ = {*setup_.memory, round->workspace_words()};
      round->set_workspace(apart_workspace_.data());
    } else {
      round->set_workspace(next);
      next += round->workspace_words();
    }
  }
}

Chunking Executor::make_chunking(int round, const AlgorithmRow& algorithm,
                                 std::size_t elements) const {
  const bool disjoint = setup_.codec->rounds()[std::size_t(round)].disjoint;
  return {elements, setup_.codec->block(), algorithm.chunks(setup_.ranks, disjoint),
          setup_.segment};
}

const AlgorithmRow& Executor::algorithm_of(int round) const {
  const RoundInfo& info = setup_.codec->rounds()[std::size_t(round)];
  if (!info.algorithm.empty()) return *find_algorithm(info.algorithm);
  const AlgorithmRow& chosen = *setup_.algorithm;
  const bool is_payload = round == payload_;
  const bool offloaded = chosen.needs_aggregator && offloads(info, is_payload);
  if (!is_payload) {
    const bool as_payload = offloaded || (info.large && !chosen.needs_aggregator);
    return as_payload ? chosen : *find_algorithm("recursive_doubling");
  }
  if (chosen.needs_aggregator && !offloaded)
    throw Error(ErrorKind::unsupported,
                "algorithm " + std::string(chosen.name) + " cannot merge by " +
                    to_string(info.merge) +
                    "; take ring, direct, tree or recursive_doubling, or another codec");
  return chosen;
}

/// A plan must know for good. So of a network, whose aggregator may be another one by the next call,
/// only the payload may want what not all have; that is found out call by call.
bool Executor::offloads(const RoundInfo& info, bool payload) const {
  // A late round exists only when something was escaped: no place at the aggregator is kept for it.
  if (info.scope == RoundScope::late) return false;
  if (!setup_.aggregator->may_fail()) return setup_.aggregator->supports(info.merge);
  if (info.merge.kind == MergeKind::add_packed) return false;
  return payload || info.merge.kind != MergeKind::add_float;
}

std::unique_ptr<RoundRun> Executor::make_round(int round, const AlgorithmRow& algorithm,
                                               const Chunking& chunking) const {
  const RoundInfo& info = setup_.codec->rounds()[std::size_t(round)];
  const bool apart = lies_apart(round);
  return std::make_unique<RoundRun>(RoundSetup{
      .round = round,
      .info = info,
      .schedule = algorithm.build({.rank = setup_.rank,
                                   .ranks = setup_.ranks,
                                   .narrow = info.narrow,
                                   .disjoint = info.disjoint}),
      .chunking = &chunking,
      .codec = setup_.codec,
      .kernels = apart ? setup_.memory_kernels : setup_.kernels,
      .memory = apart ? setup_.memory : &host_memory(),
      .type = setup_.type,
      .message_bytes = setup_.message_bytes,
      .tuning = setup_.tuning,
  });
}

void Executor::end() {
  offloaded_.end();
  uses_users_memory_ = false;
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (late_[r].chunking) rounds_[r].reset();
    late_[r] = {};
  }
}

void Executor::begin(const CallBuffers& buffers, Channel& channel, Profile* profile,
                     bool may_give_up) {
  buffers_ = buffers;
  channel_ = &channel;
  profile_ = profile;
  may_give_up_ = may_give_up;
  uses_users_memory_ = false;
  open_ = false;
  late_decided_ = false;
  setup_.codec->begin(buffers);
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    skipped_[r] = rounds_[r] && setup_.codec->skips(static_cast<int>(r));
    if (running(r) != nullptr) begin_round(r);
  }
}

/// A round that takes part in the call in flight; null for what it skips and what has not started.
RoundRun* Executor::running(std::size_t round) const {
  return skipped_[round] ? nullptr : rounds_[round].get();
}

void Executor::begin_round(std::size_t index) {
  RoundRun& round = *rounds_[index];
  const RoundInfo& info = setup_.codec->rounds()[index];
  RoundCall call{.channel = channel_, .agreed = this, .profile = profile_};
  if (info.scope != RoundScope::late) {
    // Piece by piece. Late rounds start when everything is agreed, and others behind the payload read
    // no agreement.
    if (index <= std::size_t(payload_)) call.earlier = std::span(rounds_).first(index);
    call.is_payload = index == std::size_t(payload_);
    call.hold_sends = call.is_payload && decoding_waits_for_vector();
    call.in_place = buffers_.input == buffers_.output;
    // An aggregator needs contributions to the end of the call, or overwrites them.
    const bool from_input = !round.offloads() || (round.keeps_contributions() && !call.in_place);
    // In place, a receive posted into the output would lie over input that is still to be read.
    // A device's words travel from memory that the transport knows beforehand.
    const bool from_user = setup_.memory->is_host() && !goes_on_behind_call(round);
    if (from_user && info.identity_encode && from_input && holds_words(buffers_.input))
      call.input = static_cast<const std::byte*>(buffers_.input);
    if (from_user && info.identity_decode && !call.in_place && holds_words(buffers_.output))
      call.output = static_cast<std::byte*>(buffers_.output);
    uses_users_memory_ |= call.input != nullptr || call.output != nullptr;
  }
  if (round.offloads() && info.narrow)
    if (const auto widening = setup_.codec->widening(static_cast<int>(index));
        widening && setup_.aggregator->takes_narrow(*widening))
      call.widening = widening;
  round.begin(call);
}

/// Whether the round's messages or reductions may outlive a call that gives up.
bool Executor::goes_on_behind_call(const RoundRun& round) const {
  if (!may_give_up_) return false;
  return !channel_->ends_at_once() || (round.offloads() && !setup_.aggregator->may_fail());
}

/// Whether a number of the whole vector is what decoding waits for, and encoding does not.
bool Executor::decoding_waits_for_vector() const {
  for (std::size_t r = 0; r < std::size_t(payload_); ++r) {
    const RoundInfo& info = setup_.codec->rounds()[r];
    if (info.for_decoding && info.scope == RoundScope::vector && running(r) != nullptr &&
        !running(r)->all_agreed())
      return true;
  }
  return false;
}

void Executor::open() {
  open_ = true;
  offloaded_.open(*channel_, skipped_);
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (RoundRun* round = running(r)) round->open(offloaded_.reduction(static_cast<int>(r)));
}

void Executor::complete(const Completion& completion) {
  if (offloaded_.owns(completion.cookie)) return offloaded_.complete(completion);
  rounds_[std::size_t(round_of_cookie(completion.cookie))]->complete(completion.cookie,
                                                                     completion.bytes);
}

std::size_t Executor::open_sends() const {
  std::size_t count = 0;
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (const RoundRun* round = running(r)) count += round->open_sends();
  return count;
}

bool Executor::work() {
  RoundRun* const payload = running(std::size_t(payload_));
  const std::size_t sends = open_sends();
  const auto any = [&](std::size_t first, std::size_t end, auto&& slice) {
    for (std::size_t r = first; r < end; ++r)
      if (RoundRun* round = running(r); round != nullptr && slice(*round)) return true;
    return false;
  };
  const auto all = [&](auto&& slice) { return any(0, rounds_.size(), slice); };
  const auto encode = [](RoundRun& round) {
    return round.encode_for_send() || round.encode_for_merge();
  };
  // Keep the wire busy first; then what unblocks other ranks; then agreement, which unblocks
  // everyone's payload; decoding delays nobody but this rank. Rounds that agree on what an earlier one
  // found are short, and all ranks' decoding may wait for the last of them.
  if (payload && sends < setup_.tuning.low_sends && payload->encode_for_send()) return true;
  if (any(1, std::size_t(payload_), encode)) return true;
  if (all([](RoundRun& round) { return round.merge_one(); })) return true;
  if (any(0, std::size_t(payload_), encode)) return true;
  const std::size_t peers = std::size_t(std::max(1, setup_.ranks - 1));
  if (payload && sends < setup_.tuning.sends_per_peer * peers && payload->encode_for_send())
    return true;
  if (payload && payload->encode_for_merge()) return true;
  if (any(std::size_t(payload_) + 1, rounds_.size(), encode)) return true;
  if (all([](RoundRun& round) { return round.decode_one(); })) return true;
  return payload && payload->encode_for_send();
}

/// The messages in which ranks agree are short, and all decoding waits for them. On a slow network they
/// would queue behind all of the payload, so half of it stays here until they have passed.
void Executor::release_sends() {
  RoundRun* const payload = running(std::size_t(payload_));
  if (payload != nullptr && payload->holds_sends() && !decoding_waits_for_vector())
    payload->release_sends();
}

bool Executor::advance() {
  release_sends();
  const bool moved = open_ && offloaded_.poll(profile_);
  return work() || moved;
}

bool Executor::finished() const {
  if (!open_ || !late_decided_ || !offloaded_.settled()) return false;
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (running(r) != nullptr && !running(r)->finished()) return false;
  return true;
}

ConstWords Executor::words(int round, const Piece& piece) const {
  return rounds_[std::size_t(round)]->agreed_words(piece);
}

}  // namespace cohom
