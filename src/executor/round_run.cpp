#include "executor/round_run.hpp"

#include "base/phase_timer.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

namespace {

/// Lanes and elements alone: lengths and positions in a payload are checked once, and another
/// process could change them later. What a round agrees on is read until the call ends.
bool may_read_at_senders(const RoundTraits& traits, const Memory& memory) {
  return memory.is_host() && !traits.varies();
}

}  // namespace

RoundRun::RoundRun(RoundSetup setup)
    : round_(*setup.round),
      memory_(*setup.memory),
      layout_(round_, std::move(setup.schedule), *setup.chunking, setup.type),
      locations_(round_, layout_, memory_, setup.chunking->pieces(), size_of(setup.type)),
      flow_(layout_),
      agreed_(round_, layout_, locations_),
      work_(round_, *setup.kernels, memory_, layout_, locations_, agreed_, setup.workers),
      replay_(round_, memory_, layout_, locations_, flow_),
      messenger_({.round = setup.number,
                  .message_bytes = setup.message_bytes,
                  .may_borrow = may_read_at_senders(round_.traits(), memory_) && !agreed_.agrees(),
                  .tuning = setup.tuning},
                 layout_, locations_, flow_, replay_),
      crew_(*setup.crew),
      min_given_bytes_(setup.tuning.min_given_bytes) {
  decodes_.reserve(layout_.tasks());
}

void RoundRun::begin(const RoundCall& call) {
  call_ = call;
  if (agreed_.agrees()) round_.keep_agreed_in(agreed_);
  locations_.begin(call.input, call.output);
  flow_.begin();
  agreed_.begin();
  work_.begin(crew_.has_workers());
  replay_.begin(call.promotion);
  messenger_.begin(*call.channel, call.profile, call.hold_sends);
  decodes_.clear();
}

void RoundRun::release(Reduction* reduction) {
  replay_.set_reduction(reduction);
  messenger_.release();
}

void RoundRun::write_slot(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  locations_.set_length(slot, unit, words);
  flow_.slot_written(slot, unit);
  while (flow_.has_woken()) wake(flow_.pop_woken());
}

void RoundRun::wake(const Task& task) {
  if (step_of(task).kind != StepKind::decode) return messenger_.wake(task);
  if (!agreed_.agrees()) return decodes_.push(task);
  agreed_.add(schedule().sources_of(step_of(task))[0], task.unit);
  flow_.done();
}

void RoundRun::complete(const Completion& completion) {
  if (const auto arrival = messenger_.complete(completion)) take_arrival(*arrival);
  messenger_.post_next(completion.cookie);
}

/// What the task read at its senders, and no other task reads.
void RoundRun::give_back_sources(const Task& task) {
  for (const std::uint32_t source : schedule().sources_of(step_of(task)))
    if (task.unit < layout_.units_of(source).size())
      if (const std::byte* const lent = locations_.end_lent(source, task.unit))
        messenger_.give_back(lent);
}

void RoundRun::take_arrival(const Messenger::Arrival& arrival) {
  const Task& task = arrival.task;
  const std::uint32_t slot = step_of(task).result;
  if (step_of(task).kind == StepKind::offload) {
    if (replay_.take_sum(task))
      write_slot(slot, task.unit, work_.finish_sum(slot, task.unit, arrival.bytes / 8));
    return;
  }
  if (arrival.lent != nullptr) locations_.set_lent(slot, task.unit, arrival.lent);
  expect_right_payload(task, arrival.bytes);
  flow_.demand_encodes(slot, task.unit);
  write_slot(slot, task.unit, arrival.bytes / 8);
}

/// How long a payload is that varies shows when it is merged, agreed on or decoded.
void RoundRun::expect_right_payload(const Task& task, std::size_t bytes) {
  const std::uint32_t slot = step_of(task).result;
  const std::size_t whole = 8 * layout_.capacity(slot, task.unit);
  if (!round_.traits().varies() || bytes % 8 != 0) expect_length(bytes, whole);
  if (!layout_.unit(slot, task.unit).divided) return;
  locations_.set_length(slot, task.unit, bytes / 8);
  locations_.take_pieces(slot, task.unit, bytes / 8);
}

bool RoundRun::may_encode(const Task& task) const {
  const std::uint32_t slot = step_of(task).result;
  // A contribution that lies in the user's output (fabric) is a write to it.
  if (!messenger_.is_released() && locations_.in_output(slot, task.unit)) return false;
  return agreed_before(layout_.unit(slot, task.unit), NeededBy::encoding);
}

/// Whether earlier rounds agree on the unit's pieces: those that encoding waits for, or those that
/// only the payload's decoding does.
bool RoundRun::agreed_before(const MessageUnit& unit, NeededBy needed_by) const {
  const bool is_payload = round_.traits().time == RoundTime::payload;
  for (const auto& round : call_.earlier) {
    if ((is_payload ? round->needed_by() : NeededBy::encoding) != needed_by) continue;
    for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p)
      if (!round->agreed(p)) return false;
  }
  return true;
}

bool RoundRun::may_decode(const Task& task) const {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  return agreed_before(layout_.unit(source, task.unit), NeededBy::decoding) &&
         !input_being_sent(task);
}

/// In place, what decoding overwrites may still have to leave straight from the user's memory: in
/// recursive doubling the sum can be here before the own contribution was even posted, and anywhere
/// before the transport has given the memory back.
bool RoundRun::input_being_sent(const Task& task) const {
  if (!call_.in_place || !locations_.input_is_used()) return false;
  const ChunkRange& chunks = schedule().chunks_of(step_of(task));
  for (std::uint32_t chunk = chunks.first; chunk < chunks.end(); ++chunk) {
    const std::uint32_t mine = layout_.links().contribution(chunk);
    if (mine == Step::no_slot || task.unit >= layout_.units_of(mine).size()) continue;
    for (const std::uint32_t reader : layout_.links().consumers(mine))
      if (schedule().steps[reader].kind == StepKind::send &&
          !messenger_.is_done({reader, task.unit}))
        return true;
  }
  return false;
}

bool RoundRun::continue_encoding() {
  if (!work_.may_continue()) return false;
  encode(*work_.begun());
  return true;
}

bool RoundRun::encode_if_ready(const Task* task) {
  if (task == nullptr || !may_encode(*task)) return false;
  encode(*task);
  return true;
}

bool RoundRun::encode_for_send() {
  if (work_.begun()) return continue_encoding();
  return encode_if_ready(flow_.next_encode_for_send());
}

bool RoundRun::encode_for_merge() {
  if (work_.begun()) return continue_encoding();
  return encode_if_ready(flow_.next_demanded()) || encode_if_ready(flow_.next_encode_for_merge());
}

void RoundRun::encode(const Task& task) {
  const Task own = task;  // the queue that it lies in may move
  const Form form = replay_.form_of_contribution(schedule().slots[step_of(own).result]);
  flow_.set_encoded(own);
  start(work_.next_encode(own, form));
}

bool RoundRun::merge_one() {
  if (flow_.merges().empty()) return false;
  start(work_.slice_of(flow_.merges().pop()));
  return true;
}

bool RoundRun::decode_one() {
  for (std::size_t tries = decodes_.size(); tries > 0; --tries) {
    const Task task = decodes_.pop();
    if (may_decode(task)) {
      start(work_.slice_of(task));
      return true;
    }
    decodes_.push(task);
  }
  return false;
}

/// To wake a worker takes microseconds. What there is nothing to do for is no phase, either.
void RoundRun::start(Slice slice) {
  if (crew_.takes_one() && work_.bytes_of(slice) >= min_given_bytes_) {
    crew_.give(*this, slice);
    return;
  }
  Profile* const profile =
      call_.profile != nullptr && work_.bytes_of(slice) != 0 ? call_.profile : nullptr;
  end_phase(profile, Phase::other);
  work_.run(slice);
  end_phase(profile, phase_of(slice.kind));
  take(slice);
}

void RoundRun::take(const Slice& slice) {
  const std::uint32_t slot = step_of(slice.task).result;
  std::size_t words = slice.words;
  if (slice.kind != SliceKind::encode) give_back_sources(slice.task);
  switch (slice.kind) {
    case SliceKind::decode: return flow_.done();
    case SliceKind::encode:
      if (const auto encoded = work_.take_encoded(slice))
        words = *encoded;
      else
        return;
      break;
    default: break;
  }
  locations_.write_header(slot, slice.task.unit);
  flow_.done();
  write_slot(slot, slice.task.unit, words);
}

Phase RoundRun::phase_of(SliceKind kind) const {
  switch (kind) {
    case SliceKind::encode: return agreed_.agrees() ? Phase::agree : Phase::encode;
    case SliceKind::decode: return Phase::decode;
    default: return Phase::merge;
  }
}

}  // namespace cohom
