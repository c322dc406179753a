#include "executor.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <array>
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
      chunking_(setup.elements, setup.codec->block(), setup.algorithm->chunks(setup.ranks),
                setup.segment),
      payload_(setup.codec->payload_round()) {
  setup_.codec->reserve(setup_.elements, chunking_.longest_piece());
  const auto infos = setup_.codec->rounds();
  std::size_t words = 0;
  for (int round = 0; round < static_cast<int>(infos.size()); ++round) {
    rounds_.push_back(nullptr);
    late_wait_for_payload_ |= infos[std::size_t(round)].after_payload;
    if (infos[std::size_t(round)].scope == RoundScope::late) continue;
    rounds_.back() = make_round(round, algorithm_of(round), chunking_);
    words += rounds_.back()->workspace_words();
  }
  workspace_ = Workspace(words);
  std::uint64_t* next = workspace_.data();
  for (auto& round : rounds_) {
    if (!round) continue;
    round->set_workspace(next);
    next += round->workspace_words();
  }
  reductions_.resize(rounds_.size());
  late_.resize(rounds_.size());
}

const AlgorithmRow& Executor::algorithm_of(int round) const {
  const RoundInfo& info = setup_.codec->rounds()[std::size_t(round)];
  if (!info.algorithm.empty()) return *find_algorithm(info.algorithm);
  const AlgorithmRow& chosen = *setup_.algorithm;
  // A late round exists only when something was escaped: no place at the aggregator is kept for it.
  const bool offloads = chosen.needs_aggregator && info.scope != RoundScope::late;
  const bool supported = offloads && setup_.aggregator->supports(info.merge);
  if (round != payload_) {
    const bool as_payload = supported || (info.large && !chosen.needs_aggregator);
    return as_payload ? chosen : *find_algorithm("recursive_doubling");
  }
  if (offloads && !supported)
    throw Error(ErrorKind::unsupported,
                "algorithm " + std::string(chosen.name) + " cannot merge by " +
                    std::string(name_of(info.merge.kind)) +
                    (info.merge.kind == MergeKind::add_float
                         ? " of " + std::string(name_of(info.merge.type))
                         : std::string()) +
                    "; take ring, direct, tree or recursive_doubling, or another codec");
  return chosen;
}

std::unique_ptr<RoundRun> Executor::make_round(int round, const AlgorithmRow& algorithm,
                                               const Chunking& chunking) const {
  const RoundInfo& info = setup_.codec->rounds()[std::size_t(round)];
  return std::make_unique<RoundRun>(RoundSetup{
      .round = round,
      .info = info,
      .schedule =
          algorithm.build({.rank = setup_.rank, .ranks = setup_.ranks, .narrow = info.narrow}),
      .chunking = &chunking,
      .codec = setup_.codec,
      .kernels = setup_.kernels,
      .type = setup_.type,
      .message_bytes = setup_.message_bytes,
      .tuning = setup_.tuning,
  });
}

void Executor::reserve(std::uint64_t call_number) {
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (rounds_[r] && rounds_[r]->offloads())
      reductions_[r] =
          setup_.aggregator->open(call_number, static_cast<int>(r), rounds_[r]->reductions());
}

void Executor::end() {
  for (auto& reduction : reductions_) reduction.reset();
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (late_[r].chunking) rounds_[r].reset();
    late_[r] = {};
  }
}

void Executor::begin(const CallBuffers& buffers, Channel& channel) {
  buffers_ = buffers;
  channel_ = &channel;
  open_ = false;
  late_decided_ = false;
  setup_.codec->begin(buffers);
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    if (rounds_[r]) begin_round(r);
}

void Executor::begin_round(std::size_t index) {
  RoundRun& round = *rounds_[index];
  const RoundInfo& info = setup_.codec->rounds()[index];
  RoundCall call{.channel = channel_, .reduction = reductions_[index].get(), .agreed = this};
  if (info.scope != RoundScope::late) {
    // Late rounds start when everything is agreed; the others wait piece by piece.
    call.earlier = std::span(rounds_).first(std::min(index, std::size_t(payload_)));
    call.in_place = buffers_.input == buffers_.output;
    // In place, a receive posted into the output would lie over input that is still to be read.
    if (info.identity_encode && !round.offloads() && holds_words(buffers_.input))
      call.input = static_cast<const std::byte*>(buffers_.input);
    if (info.identity_decode && !call.in_place && holds_words(buffers_.output))
      call.output = static_cast<std::byte*>(buffers_.output);
  }
  round.begin(call);
}

void Executor::open() {
  open_ = true;
  for (auto& round : rounds_)
    if (round) round->open();
}

void Executor::complete(const Completion& completion) {
  rounds_[std::size_t(RoundRun::round_of_cookie(completion.cookie))]->complete(completion.cookie,
                                                                               completion.bytes);
}

bool Executor::poll_reductions() {
  std::array<Completion, 32> done;
  bool moved = false;
  for (auto& reduction : reductions_) {
    if (!reduction) continue;
    const std::size_t count = reduction->poll(done);
    for (std::size_t i = 0; i < count; ++i) complete(done[i]);
    moved |= count != 0;
  }
  return moved;
}

bool Executor::late_rounds_due() const {
  if (!open_ || late_decided_) return false;
  if (late_wait_for_payload_) return rounds_[std::size_t(payload_)]->finished();
  return std::all_of(rounds_.begin(), rounds_.begin() + payload_,
                     [](const auto& round) { return round->all_agreed(); });
}

bool Executor::prepare_late_rounds() {
  late_decided_ = true;
  bool any = false;
  for (int round = payload_ + 1; round < static_cast<int>(rounds_.size()); ++round)
    any |= prepare_late_round(round);
  return any;
}

bool Executor::prepare_late_round(int round) {
  const auto index = std::size_t(round);
  const std::size_t elements = setup_.codec->late_elements(round, *this);
  if (elements == 0) return false;
  const AlgorithmRow& algorithm = algorithm_of(round);
  Late& late = late_[index];
  late.chunking = std::make_unique<Chunking>(elements, setup_.codec->block(),
                                             algorithm.chunks(setup_.ranks), setup_.segment);
  late.round = make_round(round, algorithm, *late.chunking);
  late.workspace = Workspace(late.round->workspace_words());
  late.round->set_workspace(late.workspace.data());
  return true;
}

void Executor::start_late_rounds() {
  for (std::size_t r = 0; r < rounds_.size(); ++r) {
    if (!late_[r].round) continue;
    rounds_[r] = std::move(late_[r].round);
    begin_round(r);
    rounds_[r]->open();
  }
}

void Executor::skip_late_rounds() {
  for (Late& late : late_) late = {};
}

std::size_t Executor::open_sends() const {
  std::size_t count = 0;
  for (const auto& round : rounds_)
    if (round) count += round->open_sends();
  return count;
}

bool Executor::work() {
  RoundRun& payload = *rounds_[std::size_t(payload_)];
  const std::size_t sends = open_sends();
  const auto any = [&](auto&& slice) {
    return std::any_of(rounds_.begin(), rounds_.end(),
                       [&](auto& round) { return round && slice(*round); });
  };
  // Keep the wire busy first; then what unblocks other ranks; then agreement, which unblocks
  // everyone's payload; decoding delays nobody but this rank.
  if (sends < setup_.tuning.low_sends && payload.encode_for_send()) return true;
  if (any([](RoundRun& round) { return round.merge_one(); })) return true;
  for (int round = 0; round < payload_; ++round) {
    RoundRun& agreement = *rounds_[std::size_t(round)];
    if (agreement.encode_for_send() || agreement.encode_for_merge()) return true;
  }
  const std::size_t peers = std::size_t(std::max(1, setup_.ranks - 1));
  if (sends < setup_.tuning.sends_per_peer * peers && payload.encode_for_send()) return true;
  if (payload.encode_for_merge()) return true;
  for (std::size_t r = std::size_t(payload_) + 1; r < rounds_.size(); ++r)
    if (rounds_[r] && (rounds_[r]->encode_for_send() || rounds_[r]->encode_for_merge()))
      return true;
  if (any([](RoundRun& round) { return round.decode_one(); })) return true;
  return payload.encode_for_send();
}

bool Executor::advance() {
  const bool moved = poll_reductions();
  return work() || moved;
}

bool Executor::finished() const {
  return open_ && late_decided_ &&
         std::all_of(rounds_.begin(), rounds_.end(),
                     [](const auto& round) { return !round || round->finished(); });
}

ConstWords Executor::words(int round, const Piece& piece) const {
  return rounds_[std::size_t(round)]->agreed_words(piece);
}

}  // namespace cohom
