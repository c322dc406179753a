#include "executor/round_run.hpp"

#include "base/tags.hpp"

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
  // Nothing is taken while a call runs: a rank that lacks memory then could not tell the others.
  ready_.reserve(layout_.tasks());
  encoded_.reserve(layout_.tasks());
  summed_.reserve(layout_.tasks());
  if (agrees_) {
    agreed_.reserve(setup_.chunking->pieces().size());
    agreed_slot_.resize(schedule().chunks);
    extents_.resize(setup_.chunking->pieces().size());
  }
  for (TaskQueue* queue : {&demanded_, &merges_, &decodes_}) queue->reserve(layout_.tasks());
  std::size_t most_sources = 0;
  for (const Step& step : steps)
    most_sources = std::max<std::size_t>(most_sources, step.source_count);
  merge_sources_.reserve(most_sources);
  source_words_.reserve(most_sources);
  const bool may_widen =
      layout_.offloads() && setup_.info.narrow && setup_.codec->widening(setup_.round).has_value();
  if (setup_.info.merge.kind == MergeKind::add_packed || may_widen)
    packed_sum_ = {*setup_.memory, layout_.longest_unit(Form::wide)};
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
  summed_.assign(layout_.tasks(), false);
  sums_left_ = reductions();
  words_handed_over_ = 0;
  repeating_ = false;
  agreed_.assign(agrees_ ? setup_.chunking->pieces().size() : 0, false);
  std::ranges::fill(extents_, Extent{});
  std::fill(messages_left_.begin(), messages_left_.end(), 1u);  // what is not posted is not done
  agreed_pieces_ = 0;
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

void RoundRun::open(Reduction* reduction) {
  open_ = true;
  reduction_ = reduction;
  for (auto& stream : streams_) pump(stream);
}

void RoundRun::release_sends() {
  call_.hold_sends = false;
  for (auto& stream : streams_) pump(stream);
}

const Piece& RoundRun::piece(std::size_t index) const { return setup_.chunking->pieces()[index]; }

const Piece& RoundRun::piece_of(std::uint32_t slot, std::uint32_t unit) const {
  return piece(layout_.unit(slot, unit).first_piece);
}

bool RoundRun::in_output(std::uint32_t slot, std::uint32_t unit) const {
  return call_.output != nullptr && layout_.unit(slot, unit).aliasable &&
         layout_.buffer_decoded(schedule().slots[slot].buffer);
}

std::byte* RoundRun::address(std::uint32_t slot, std::uint32_t unit) const {
  const Unit& u = layout_.unit(slot, unit);
  if (u.aliasable) {
    const std::size_t byte = piece(u.first_piece).first * size_of(setup_.type);
    if (in_output(slot, unit)) return call_.output + byte;
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
  const std::uint32_t slot = agreed_slot_[layout_.chunk_of_piece(piece.index)];
  const ConstWords all = words(slot, layout_.unit_of_piece(piece.index));
  if (setup_.info.scope == RoundScope::vector) return all;
  const Extent& extent = extents_[piece.index];
  return all.subspan(extent.begin, extent.words);
}

void RoundRun::slot_ready(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  slot_words_[layout_.slot_index(slot, unit)] = static_cast<std::uint32_t>(words);
  for (std::uint32_t reader : layout_.consumers(slot))
    if (--missing_[layout_.task_index({reader, unit})] == 0) make_ready({reader, unit});
}

void RoundRun::make_ready(const Task& task) {
  switch (step_of(task).kind) {
    case StepKind::merge: merges_.push(task); break;
    case StepKind::decode:
      if (agrees_)
        publish(task);
      else
        decodes_.push(task);
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
        demanded_.push(task);
    }
  }
}

/// How long a payload is that varies shows when it is merged, published or decoded.
void RoundRun::expect_right_payload(const Task& task, std::size_t bytes) const {
  const std::size_t whole = 8 * layout_.capacity(step_of(task).result, task.unit);
  if (!setup_.info.varies || bytes % 8 != 0) expect_length(bytes, whole);
}

void RoundRun::expect_length(std::size_t bytes, std::size_t right) {
  if (bytes != right)
    throw Error(ErrorKind::transport, "a payload of " + std::to_string(bytes) +
                                          " bytes came where " + std::to_string(right) +
                                          " were expected");
}

void RoundRun::complete(std::uint64_t cookie, std::size_t bytes) {
  const Task task{step_of_cookie(cookie), unit_of_cookie(cookie)};
  const std::size_t index = layout_.task_index(task);
  received_bytes_[index] += static_cast<std::uint32_t>(bytes);
  if (--messages_left_[index] != 0) return;
  --pending_;
  const Step& step = step_of(task);
  Stream& stream = streams_[stream_of_step_[task.step]];
  --stream.in_flight;
  switch (step.kind) {
    case StepKind::send: --open_sends_; break;
    case StepKind::offload: take_sum(task); break;
    default: take_received(task);
  }
  pump(stream);
}

void RoundRun::take_received(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const std::size_t bytes = received_bytes_[layout_.task_index(task)];
  expect_right_payload(task, bytes);
  demand_encodes(slot, task.unit);
  slot_ready(slot, task.unit, bytes / 8);
}

}  // namespace cohom
