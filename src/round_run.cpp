#include "round_run.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace cohom {

namespace {

constexpr std::uint32_t no_stream = 0xffffffffu;

bool is_stream(StepKind kind) {
  return kind == StepKind::send || kind == StepKind::receive || kind == StepKind::offload;
}

}  // namespace

RoundRun::RoundRun(RoundSetup setup)
    : setup_(std::move(setup)),
      layout_(setup_.round, setup_.info, std::move(setup_.schedule), *setup_.chunking,
              *setup_.codec, setup_.type),
      agrees_(setup_.round < setup_.codec->payload_round()) {
  const auto& steps = schedule().steps;
  stream_of_step_.assign(steps.size(), no_stream);
  for (std::uint32_t s = 0; s < steps.size(); ++s) {
    if (!is_stream(steps[s].kind)) continue;
    stream_of_step_[s] = static_cast<std::uint32_t>(streams_.size());
    streams_.push_back({s});
  }
  send_encodes_.tasks = &layout_.encodes_for_send();
  merge_encodes_.tasks = &layout_.encodes_for_merge();
  missing_.resize(layout_.tasks());
  messages_left_.resize(layout_.tasks());
  received_bytes_.resize(layout_.tasks());
  slot_words_.resize(layout_.slot_units());
}

std::size_t RoundRun::reductions() const {
  std::size_t count = 0;
  for (const Step& step : schedule().steps)
    if (step.kind == StepKind::offload) count += layout_.units_of(step).size();
  return count;
}

void RoundRun::begin(const RoundCall& call) {
  call_ = call;
  open_ = false;
  pending_ = layout_.tasks();
  open_sends_ = 0;
  for (auto& stream : streams_) stream.next = stream.in_flight = 0;
  send_encodes_.next = merge_encodes_.next = 0;
  ready_.assign(layout_.tasks(), false);
  encoded_.assign(layout_.tasks(), false);
  agreed_.assign(agrees_ ? layout_.units_of_chunk(0).size() : 0, false);
  std::fill(messages_left_.begin(), messages_left_.end(), 1u);  // what is not posted is not done
  agreed_units_ = 0;
  demanded_.clear();
  merges_.clear();
  decodes_.clear();
  partial_pieces_ = partial_words_ = 0;
  for (std::uint32_t s = 0; s < schedule().steps.size(); ++s) {
    const Step& step = schedule().steps[s];
    const std::size_t first = layout_.task_index({s, 0});
    std::fill_n(missing_.begin() + std::ptrdiff_t(first), layout_.units_of(step).size(),
                static_cast<std::uint16_t>(step.source_count));
  }
}

void RoundRun::open() {
  open_ = true;
  for (auto& stream : streams_) pump(stream);
}

// ---- where words are ---------------------------------------------------------------------------

const Piece& RoundRun::piece(std::size_t index) const { return setup_.chunking->pieces()[index]; }

const Piece& RoundRun::piece_of(std::uint32_t slot, std::uint32_t unit) const {
  return piece(layout_.unit(slot, unit).first_piece);
}

std::byte* RoundRun::address(std::uint32_t slot, std::uint32_t unit) const {
  const Unit& u = layout_.unit(slot, unit);
  if (u.aliasable) {
    const std::size_t byte = piece(u.first_piece).first * size_of(setup_.type);
    if (call_.output != nullptr && layout_.buffer_decoded(schedule().slots[slot].buffer))
      return call_.output + byte;
    // Contributions are only read, so the user's const memory can stand for them.
    if (call_.input != nullptr && layout_.is_contribution(slot))
      return const_cast<std::byte*>(call_.input) + byte;
  }
  return reinterpret_cast<std::byte*>(workspace_ + layout_.workspace_offset(slot, unit));
}

ConstWords RoundRun::words(std::uint32_t slot, std::uint32_t unit) const {
  return {reinterpret_cast<const std::uint64_t*>(address(slot, unit)),
          slot_words_[layout_.slot_index(slot, unit)]};
}

ConstWords RoundRun::agreed_words(const Piece& piece) const {
  const auto unit = static_cast<std::uint32_t>(layout_.unit_of_piece(piece.index));
  const ConstWords all = words(agreed_slot_, unit);
  if (setup_.info.scope == RoundScope::vector) return all;
  return all.subspan(layout_.offset_of_piece(piece.index),
                     setup_.codec->capacity(setup_.round, Form::wide, piece.count));
}

// ---- data flow ---------------------------------------------------------------------------------

void RoundRun::slot_ready(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  slot_words_[layout_.slot_index(slot, unit)] = static_cast<std::uint32_t>(words);
  for (std::uint32_t reader : layout_.consumers(slot))
    if (--missing_[layout_.task_index({reader, unit})] == 0) make_ready({reader, unit});
}

void RoundRun::make_ready(const Task& task) {
  switch (step_of(task).kind) {
    case StepKind::merge: merges_.push_back(task); break;
    case StepKind::decode:
      if (agrees_)
        publish(task);
      else
        decodes_.push_back(task);
      break;
    default: ready_[layout_.task_index(task)] = true; pump(streams_[stream_of_step_[task.step]]);
  }
}

/// What just arrived wants to be merged with contributions of this rank: encode those next.
void RoundRun::demand_encodes(std::uint32_t slot, std::uint32_t unit) {
  for (std::uint32_t reader : layout_.consumers(slot)) {
    for (std::uint32_t source : schedule().sources_of(schedule().steps[reader])) {
      const Task task{layout_.producer(source), unit};
      if (layout_.is_contribution(source) && !encoded_[layout_.task_index(task)])
        demanded_.push_back(task);
    }
  }
}

void RoundRun::complete(std::uint64_t cookie, std::size_t bytes) {
  const Task task{static_cast<std::uint32_t>(cookie >> 32) & 0xffffffu,
                  static_cast<std::uint32_t>(cookie)};
  const std::size_t index = layout_.task_index(task);
  received_bytes_[index] += static_cast<std::uint32_t>(bytes);
  if (--messages_left_[index] != 0) return;
  --pending_;
  const Step& step = step_of(task);
  Stream& stream = streams_[stream_of_step_[task.step]];
  --stream.in_flight;
  if (step.kind == StepKind::send) {
    --open_sends_;
  } else {
    if (step.kind == StepKind::receive) demand_encodes(step.result, task.unit);
    slot_ready(step.result, task.unit, received_bytes_[index] / 8);
  }
  pump(stream);
}

// ---- messages ----------------------------------------------------------------------------------

std::size_t RoundRun::messages(const Unit& unit, Form form) const {
  // From the capacity, which both ends know, so that a payload may be shorter without a word about it.
  const std::size_t bytes = unit.capacity[std::size_t(form)] * 8;
  return std::max<std::size_t>(1, (bytes + setup_.message_bytes - 1) / setup_.message_bytes);
}

std::uint64_t RoundRun::cookie(const Task& task) const {
  return std::uint64_t(setup_.round) << 56 | std::uint64_t(task.step) << 32 | task.unit;
}

void RoundRun::pump(Stream& stream) {
  if (!open_) return;
  const Step& step = schedule().steps[stream.step];
  const std::size_t units = layout_.units_of(step).size();
  const bool receives = step.kind == StepKind::receive;
  const std::size_t window = receives ? setup_.tuning.receive_window : setup_.tuning.send_window;
  while (stream.next < units && stream.in_flight < window) {
    const Task task{stream.step, static_cast<std::uint32_t>(stream.next)};
    if (!receives && !ready_[layout_.task_index(task)]) return;
    ++stream.next;
    ++stream.in_flight;
    received_bytes_[layout_.task_index(task)] = 0;
    if (step.kind == StepKind::send)
      post_send(task);
    else if (receives)
      post_receive(task);
    else
      post_offload(task);
  }
}

void RoundRun::post_send(const Task& task) {
  const Step& step = step_of(task);
  const std::uint32_t source = schedule().sources_of(step)[0];
  const auto data = std::as_bytes(words(source, task.unit));
  const std::size_t count =
      messages(layout_.unit(source, task.unit), schedule().slots[source].form);
  messages_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(count);
  ++open_sends_;
  const std::uint32_t tag = std::uint32_t(setup_.round) << 16 | step.stream;
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t begin = std::min(m * setup_.message_bytes, data.size());
    const std::size_t size = std::min(setup_.message_bytes, data.size() - begin);
    call_.channel->send(data.subspan(begin, size), step.peer, tag, cookie(task));
  }
}

void RoundRun::post_receive(const Task& task) {
  const Step& step = step_of(task);
  const Unit& unit = layout_.unit(step.result, task.unit);
  const Form form = schedule().slots[step.result].form;
  const std::size_t count = messages(unit, form);
  messages_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(count);
  const std::size_t bytes = unit.capacity[std::size_t(form)] * 8;
  const std::uint32_t tag = std::uint32_t(setup_.round) << 16 | step.stream;
  std::byte* const buffer = address(step.result, task.unit);
  for (std::size_t m = 0; m < count; ++m) {
    const std::size_t begin = m * setup_.message_bytes;
    const std::size_t size = std::min(setup_.message_bytes, bytes - begin);
    call_.channel->receive({buffer + begin, size}, step.peer, tag, cookie(task));
  }
}

void RoundRun::post_offload(const Task& task) {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  const ConstWords data = words(source, task.unit);
  messages_left_[layout_.task_index(task)] = 1;
  call_.reduction->start({const_cast<std::uint64_t*>(data.data()), data.size()}, setup_.info.merge,
                         cookie(task));
}

// ---- codec work --------------------------------------------------------------------------------

bool RoundRun::may_encode(const Task& task) const {
  const Unit& unit = layout_.unit(step_of(task).result, task.unit);
  for (const auto& round : call_.earlier)
    for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p)
      if (!round->agreed(p)) return false;
  return true;
}

bool RoundRun::encode_next(EncodeQueue& queue) {
  if (continue_partial()) return true;
  while (queue.next < queue.tasks->size()) {
    const Task& task = (*queue.tasks)[queue.next];
    if (encoded_[layout_.task_index(task)]) {
      ++queue.next;
      continue;
    }
    if (!may_encode(task)) return false;
    if (encode(task)) ++queue.next;
    return true;
  }
  return false;
}

/// A unit once begun is finished before any other: its words are half written.
bool RoundRun::continue_partial() {
  if (partial_pieces_ == 0) return false;
  const Task begun = partial_;
  encode(begun);
  return true;
}

bool RoundRun::encode_for_merge() {
  if (continue_partial()) return true;
  while (!demanded_.empty()) {
    const Task task = demanded_.front();
    if (!encoded_[layout_.task_index(task)]) {
      if (!may_encode(task)) break;
      if (encode(task)) demanded_.pop_front();
      return true;
    }
    demanded_.pop_front();
  }
  return encode_next(merge_encodes_);
}

/// Encodes the next piece of the task's unit; true when the unit is complete.
bool RoundRun::encode(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const Unit& unit = layout_.unit(slot, task.unit);
  const Form form = schedule().slots[slot].form;
  const std::size_t capacity = unit.capacity[std::size_t(form)];
  // Where the words already lie in the user's input there is nothing to do. (One rank, not in place:
  // its contribution is the sum, and lies in the output.)
  const bool in_place = setup_.info.identity_encode && call_.input != nullptr && unit.aliasable &&
                        address(slot, task.unit) ==
                            call_.input + piece(unit.first_piece).first * size_of(setup_.type);
  std::size_t written = capacity;
  if (!in_place) {
    if (partial_pieces_ == 0) partial_ = task;
    Words out{reinterpret_cast<std::uint64_t*>(address(slot, task.unit)), capacity};
    if (setup_.info.scope != RoundScope::vector) out = out.subspan(partial_words_);
    const Piece& next = piece(unit.first_piece + partial_pieces_);
    const std::size_t words = setup_.codec->encode(setup_.round, form, next, *call_.agreed, out);
    partial_words_ = setup_.info.scope == RoundScope::vector ? words : partial_words_ + words;
    if (++partial_pieces_ < unit.pieces) return false;
    written = std::exchange(partial_words_, 0);
    partial_pieces_ = 0;
  }
  encoded_[layout_.task_index(task)] = true;
  --pending_;
  slot_ready(slot, task.unit, written);
  return true;
}

bool RoundRun::merge_one() {
  if (merges_.empty()) return false;
  const Task task = merges_.front();
  merges_.pop_front();
  merge(task);
  return true;
}

void RoundRun::merge(const Task& task) {
  const Step& step = step_of(task);
  const auto sources = schedule().sources_of(step);
  const Unit& unit = layout_.unit(step.result, task.unit);
  std::byte* const result = address(step.result, task.unit);
  std::size_t written = 0;
  if (schedule().slots[sources[0]].form == Form::narrow) {
    widen_sources_.clear();
    for (std::uint32_t source : sources) widen_sources_.push_back(words(source, task.unit));
    written = setup_.codec->widen(
        setup_.round, piece_of(step.result, task.unit), *call_.agreed, widen_sources_,
        {reinterpret_cast<std::uint64_t*>(result), unit.capacity[std::size_t(Form::wide)]});
  } else {
    merge_sources_.clear();
    written = words(sources[0], task.unit).size();
    for (std::uint32_t source : sources) {
      const ConstWords data = words(source, task.unit);
      if (data.size() != written)
        throw Error(ErrorKind::transport,
                    "payloads of different length: " + std::to_string(data.size()) + " and " +
                        std::to_string(written) + " words");
      merge_sources_.push_back(data.data());
    }
    setup_.kernels->merge(setup_.info.merge, merge_sources_.data(), merge_sources_.size(),
                          written * 8, result);
  }
  --pending_;
  slot_ready(step.result, task.unit, written);
}

bool RoundRun::decode_one() {
  for (std::size_t tries = decodes_.size(); tries > 0; --tries) {
    const Task task = decodes_.front();
    decodes_.pop_front();
    if (!input_being_sent(task)) {
      decode(task);
      return true;
    }
    decodes_.push_back(task);
  }
  return false;
}

/// In place, what decoding overwrites may still have to leave straight from the user's memory: in
/// recursive doubling the sum can be here before the own contribution was even posted, and anywhere
/// before the transport has given the memory back.
bool RoundRun::input_being_sent(const Task& task) const {
  if (!call_.in_place || call_.input == nullptr) return false;
  const std::uint32_t mine = layout_.contribution(schedule().chunk_of(step_of(task)));
  if (mine == Step::no_slot) return false;
  const auto& readers = layout_.consumers(mine);
  return std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
    return schedule().steps[reader].kind == StepKind::send &&
           messages_left_[layout_.task_index({reader, task.unit})] != 0;
  });
}

void RoundRun::decode(const Task& task) {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  const Unit& unit = layout_.unit(source, task.unit);
  // A merge of ours made the NaNs canonical. A lone contribution was never merged, and an
  // aggregator's NaNs are its own and differ from rank to rank: these are decoded in place.
  const bool done = call_.output != nullptr && unit.aliasable && !layout_.is_contribution(source) &&
                    !layout_.offloads() && layout_.buffer_decoded(schedule().slots[source].buffer);
  if (!done)
    setup_.codec->decode(setup_.round, piece_of(source, task.unit), *call_.agreed,
                         words(source, task.unit), schedule().slots[source].contributions);
  --pending_;
}

void RoundRun::publish(const Task& task) {
  agreed_slot_ = schedule().sources_of(step_of(task))[0];
  agreed_[task.unit] = true;
  ++agreed_units_;
  --pending_;
}

}  // namespace cohom
