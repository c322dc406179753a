#include "rounds/rounds_impl.hpp"

#include "base/float_mode.hpp"
#include "base/tags.hpp"
#include "base/vector_bytes.hpp"
#include "call/call_request.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/placement.hpp"

#include <cohom/version.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace cohom {

namespace {

/// A segment that no chunk is longer than.
constexpr std::size_t whole_chunks = std::numeric_limits<std::size_t>::max() / 2;
constexpr std::uint64_t sign_bits = 0x8000'0000'8000'0000u;  // of the halves of a word

std::uint64_t divisor_of(ReduceOp op, int ranks) {
  return op == ReduceOp::mean ? static_cast<std::uint64_t>(ranks) : 1;
}

void check_ranks(int rank, int ranks) {
  if (ranks < 1)
    throw Error(ErrorKind::invalid_argument,
                "ranks is " + std::to_string(ranks) + "; there should be one or more");
  if (ranks > max_ranks)
    throw Error(ErrorKind::unsupported, std::to_string(ranks) + " ranks; at most " +
                                            std::to_string(max_ranks) + " are supported");
  if (rank < 0 || rank >= ranks)
    throw Error(
        ErrorKind::invalid_argument,
        "rank is " + std::to_string(rank) + "; it should be 0 to " + std::to_string(ranks - 1));
}

CodecContext context_of(std::size_t count, ElementType type, int rank, int ranks, ReduceOp op) {
  check_ranks(rank, ranks);
  vector_bytes(count, type);
  return {.rank = rank,
          .ranks = ranks,
          .type = type,
          .divisor = divisor_of(op, ranks),
          .kernels = kernels::kernel_table(),
          .elements = count,
          .mean = op == ReduceOp::mean};
}

StepNumbers numbers_of(MergeKind kind, bool has_unsigned) {
  switch (kind) {
    case MergeKind::max: return has_unsigned ? StepNumbers::u32 : StepNumbers::i32;
    case MergeKind::max8: return StepNumbers::u8;
    case MergeKind::max16: return StepNumbers::u16;
    default: return has_unsigned ? StepNumbers::u64 : StepNumbers::i64;
  }
}

std::size_t numbers_a_word(StepNumbers type) {
  switch (type) {
    case StepNumbers::u8: return 8;
    case StepNumbers::u16: return 4;
    case StepNumbers::u32:
    case StepNumbers::i32: return 2;
    default: return 1;
  }
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::transport, what); }

}  // namespace

RoundsImpl::RoundsImpl(std::string_view codec, std::size_t count, ElementType type, int rank,
                       int ranks, const RoundsOptions& options)
    : count_(count),
      type_(type),
      rank_(rank),
      ranks_(ranks),
      options_(options),
      plan_codec_(codec, context_of(count, type, rank, ranks, options.op)),
      codec_(plan_codec_.make()),
      chunking_(count, codec_->block(), static_cast<std::size_t>(ranks), whole_chunks),
      state_(codec_->state_bytes(count)) {
  codec_->reserve(count, count == 0 ? 0 : chunking_.longest_piece());
  for (Round* const each : codec_->rounds()) {
    agreed_.emplace_back(each->traits().scope);
    if (each->traits().time == RoundTime::before_payload) each->keep_agreed_in(agreed_.back());
  }
}

void RoundsImpl::begin(const void* input, void* output, std::uint64_t step) {
  error_.reset();
  try {
    check_arguments(input, output);
  } catch (const Error& error) {
    error_ = error;
  }
  signature_ = {};
  signature_.number("wire format version", wire_format_version);
  signature_.number("count", count_);
  signature_.text("element type", std::string(name_of(type_)));
  signature_.text("op", std::string(name_of(options_.op)));
  signature_.text("codec", plan_codec_.spec());
  signature_.number("ranks", ranks());
  signature_.text("all_to_all", options_.all_to_all ? "on" : "off");
  signature_.number("what reductions can do", (options_.has_bit_or ? 1 : 0) +
                                                  (options_.has_small_max ? 2 : 0) +
                                                  (options_.has_unsigned ? 4 : 0));
  signature_.number("step", step);
  round_ = 0;
  stage_ = Stage::status;
  if (!error_ && count_ != 0)
    codec_->begin({.type = type_,
                   .input = input,
                   .output = output,
                   .step = step,
                   .state = state_,
                   .pieces = chunking_.pieces()});
  step_ = {};
}

void RoundsImpl::check_arguments(const void* input, const void* output) {
  if (auto error = buffer_error(input, output, count_ * size_of(type_))) throw std::move(*error);
  if (count_ != 0 && placement_of(input, output, type_).on_device())
    throw Error(ErrorKind::unsupported,
                "input or output lies on a device; rounds take the host's memory");
}

const RoundStep* RoundsImpl::next() {
  const DefaultFloatMode mode;
  try {
    switch (std::exchange(stage_, Stage::round)) {
      case Stage::idle: throw Error(ErrorKind::state, "no call was begun");
      case Stage::over: stage_ = Stage::over; return nullptr;
      case Stage::status:
        if (const RoundStep* const step = status_step()) return step;
        break;
      case Stage::round: break;
      case Stage::agreed: take_status(); break;
      case Stage::reduced: take_reduced(); break;
      case Stage::gathered: take_gathered(); break;
      case Stage::lengths: take_lengths(); return contributions_step();
      case Stage::contributions:
        add_contributions();
        return sums_have_own_lengths() ? lengths_step(Stage::sum_lengths, Collective::all_gather)
                                       : sums_step();
      case Stage::sum_lengths: return sums_step();
      case Stage::sums: take_sums(); break;
    }
    while (round_ < codec_->rounds().size()) {
      if (!begin_round()) {
        ++round_;
        continue;
      }
      encode();
      if (const RoundStep* const step = first_step()) return step;
      take_reduced();
    }
  } catch (...) {
    stage_ = Stage::idle;
    throw;
  }
  stage_ = Stage::over;
  return nullptr;
}

// Whether all ranks make this call.

/// None: this rank is alone.
const RoundStep* RoundsImpl::status_step() {
  if (ranks_ == 1) {
    if (error_) throw Error(*error_);
    if (count_ == 0) round_ = codec_->rounds().size();
    return nullptr;
  }
  status_.assign(1, error_ ? static_cast<std::uint64_t>(error_->kind()) : 0);
  for (const SignatureField& field : signature_.fields()) {
    status_.push_back(field.value);
    status_.push_back(~field.value);
  }
  stage_ = Stage::agreed;
  return reduce_step("status", {MergeKind::max}, status_);
}

void RoundsImpl::take_status() {
  flip_signs(status_);
  if (error_) throw Error(*error_);
  if (status_[0] != 0) {
    const auto kind = static_cast<ErrorKind>(status_[0]);
    throw Error(kind, "another rank's arguments are wrong (" + std::string(name_of(kind)) +
                          "); it says how");
  }
  std::size_t word = 1;
  for (const SignatureField& field : signature_.fields()) {
    const bool alike = status_[word] == field.value && status_[word + 1] == ~field.value;
    if (!alike)
      throw Error(ErrorKind::mismatch, "ranks disagree about " + std::string(field.name) +
                                           "; this one has " +
                                           field.text.value_or(std::to_string(field.value)));
    word += 2;
  }
  if (count_ == 0) round_ = codec_->rounds().size();
}

// A round.

bool RoundsImpl::can_reduce(const Merge& merge) const {
  switch (merge.kind) {
    case MergeKind::add:
    case MergeKind::max: return true;
    case MergeKind::bit_or: return options_.has_bit_or;
    case MergeKind::max8:
    case MergeKind::max16: return options_.has_small_max;
    case MergeKind::add_packed:
    case MergeKind::add_float: return false;  // floats: in the order of ranks
  }
  return false;
}

RoundsImpl::Way RoundsImpl::choose_way() const {
  if (ranks_ == 1) return Way::reduce;
  const bool reduces = can_reduce(traits().merge);
  if (is_whole()) return reduces ? Way::reduce : Way::gather;
  const bool is_short =
      traits().time == RoundTime::before_payload && traits().algorithm == RoundAlgorithm::small;
  if (reduces && (is_short || !options_.all_to_all || ranks_ == 2)) return Way::reduce;
  return Way::owners;
}

bool RoundsImpl::begin_round() {
  pieces_ = chunking_.pieces();
  if (traits().is_fallback()) {
    const std::size_t elements = round().fallback_elements();
    if (elements > count_)
      refuse("round " + std::string(traits().name) + " would have " + std::to_string(elements) +
             " elements of " + std::to_string(count_) + ": words were changed on their way");
    if (elements == 0) return false;
    own_chunking_ = std::make_unique<Chunking>(elements, codec_->block(), ranks(), whole_chunks);
    pieces_ = own_chunking_->pieces();
  } else if (codec_->skips(round())) {
    return false;
  }
  way_ = choose_way();
  return true;
}

std::size_t RoundsImpl::contribution_capacity(const Piece& piece) const {
  return round().capacity(is_narrow() ? alone : ranks(), piece.count);
}

std::size_t RoundsImpl::sum_capacity(const Piece& piece) const {
  const std::size_t capacity = round().capacity(ranks(), piece.count);
  return traits().finishes_sums() && ranks_ > 1
             ? std::max(capacity, round().finished_capacity(ranks(), piece.count))
             : capacity;
}

void RoundsImpl::encode() {
  const std::size_t contributors = is_narrow() ? alone : ranks();
  contributions_.clear();
  if (!is_whole()) {
    for (const Piece& piece : pieces_) {
      const Payload room = contributions_.add(contribution_capacity(piece));
      contributions_.resize_last(round().encode(contributors, piece, room));
    }
    return;
  }
  const Piece& last = pieces_.back();
  const Payload room = contributions_.add(round().capacity(contributors, last.first + last.count));
  std::size_t words = 0;
  for (const Piece& piece : pieces_) words = round().encode(contributors, piece, room);
  contributions_.resize_last(words);
}

/// None: this rank is alone, or all ranks have no words.
const RoundStep* RoundsImpl::first_step() {
  if (ranks_ == 1) return nullptr;
  if (way_ == Way::reduce && contributions_.all().empty()) return nullptr;
  switch (way_) {
    case Way::reduce:
      stage_ = Stage::reduced;
      return reduce_step(traits().name, traits().merge, contributions_.all());
    case Way::gather: return gather_step();
    case Way::owners: break;
  }
  // Contributions to a piece are equally long where earlier rounds have said how long.
  if (traits().merges_itself()) return lengths_step(Stage::lengths, Collective::all_to_all);
  const Piece* const own = own_piece();
  receive_counts_.assign(ranks(), own == nullptr ? 0 : contributions_.part(own->index).size());
  return contributions_step();
}

const RoundStep* RoundsImpl::reduce_step(std::string_view name, Merge merge, Payload words) {
  const StepNumbers type = numbers_of(merge.kind, options_.has_unsigned);
  const bool is_max = merge.kind == MergeKind::max8 || merge.kind == MergeKind::max16;
  if (merge.kind == MergeKind::max) flip_signs(words);
  step_ = {};
  step_.kind = Collective::all_reduce;
  step_.name = name;
  step_.operation = is_max ? MergeKind::max : merge.kind;
  step_.type = type;
  step_.numbers = words.size() * numbers_a_word(type);
  step_.words = words;
  return &step_;
}

/// Between unsigned numbers of 32 bits and signed ones of the same order.
void RoundsImpl::flip_signs(Payload words) const {
  if (options_.has_unsigned) return;
  for (std::uint64_t& word : words) word ^= sign_bits;
}

void RoundsImpl::take_reduced() {
  if (traits().merge.kind == MergeKind::max && ranks_ > 1) flip_signs(contributions_.all());
  RoundWords& result = sums();
  const bool finishes = ranks_ > 1 && traits().finishes_sums();
  if (!is_narrow() && !finishes) {
    result.take(contributions_);
    return use_sums();
  }
  result.clear();
  for (const Piece& piece : pieces_) {
    const ConstPayload words = std::as_const(contributions_).part(piece.index);
    const Payload sum = result.add(sum_capacity(piece));
    if (is_narrow()) {  // one rank alone
      result.resize_last(round().promote(piece, std::span(&words, 1), 1, sum));
    } else {
      std::ranges::copy(words, sum.begin());
      result.resize_last(round().finish(piece, sum, words.size()));
    }
  }
  use_sums();
}

RoundWords& RoundsImpl::sums() {
  return traits().time == RoundTime::before_payload ? agreed_[round_] : sums_;
}

/// The sums are there: they are decoded, or kept for later rounds. The next round is the next.
void RoundsImpl::use_sums() {
  if (traits().time != RoundTime::before_payload)
    for (const Piece& piece : pieces_)
      round().decode(piece, std::as_const(sums_).part(is_whole() ? 0 : piece.index), ranks());
  ++round_;
}

// Words that somebody else exchanges.

const RoundStep* RoundsImpl::exchange_step(Stage stage, Collective kind, ConstPayload send) {
  std::size_t words = 0;
  for (const std::size_t count : receive_counts_) words += count;
  received_.resize(words);
  stage_ = stage;
  step_ = {};
  step_.kind = kind;
  step_.name = traits().name;
  step_.send = send;
  step_.send_counts = send_counts_;
  step_.receive = received_;
  step_.receive_counts = receive_counts_;
  return &step_;
}

std::vector<ConstPayload> RoundsImpl::received_parts() const {
  std::vector<ConstPayload> parts;
  std::size_t begin = 0;
  for (const std::size_t count : receive_counts_) {
    parts.push_back(ConstPayload(received_).subspan(begin, count));
    begin += count;
  }
  return parts;
}

const RoundStep* RoundsImpl::lengths_step(Stage stage, Collective kind) {
  if (kind == Collective::all_gather) {
    lengths_.assign(1, own_sum_.parts() == 0 ? 0 : own_sum_.part(0).size());
    send_counts_.assign(1, 1);
  } else {
    lengths_.assign(ranks(), 0);
    for (const Piece& piece : pieces_)
      lengths_[piece.index] = contributions_.part(piece.index).size();
    send_counts_.assign(ranks(), 1);
  }
  receive_counts_.assign(ranks(), 1);
  return exchange_step(stage, kind, lengths_);
}

const RoundStep* RoundsImpl::gather_step() {
  send_counts_.assign(1, contributions_.all().size());
  receive_counts_.assign(ranks(), contributions_.all().size());
  return exchange_step(Stage::gathered, Collective::all_gather, contributions_.all());
}

void RoundsImpl::take_gathered() {
  sums().clear();
  merge(pieces_.back(), received_parts(), sums());
  use_sums();
}

/// Of contributions to this rank's piece.
void RoundsImpl::take_lengths() {
  const Piece* const own = own_piece();
  for (std::size_t source = 0; source < ranks(); ++source) {
    const std::size_t most = own == nullptr ? 0 : contribution_capacity(*own);
    if (received_[source] > most)
      refuse("rank " + std::to_string(source) + " contributes " +
             std::to_string(received_[source]) + " words to round " + std::string(traits().name) +
             ", which has at most " + std::to_string(most));
    receive_counts_[source] = received_[source];
  }
}

const Piece* RoundsImpl::own_piece() const {
  const auto own = static_cast<std::size_t>(rank_);
  return own < pieces_.size() ? &pieces_[own] : nullptr;
}

const RoundStep* RoundsImpl::contributions_step() {
  send_counts_.assign(ranks(), 0);
  for (const Piece& piece : pieces_)
    send_counts_[piece.index] = contributions_.part(piece.index).size();
  return exchange_step(Stage::contributions, Collective::all_to_all, contributions_.all());
}

void RoundsImpl::add_contributions() {
  own_sum_.clear();
  const Piece* const own = own_piece();
  if (own == nullptr) return;
  const auto sources = received_parts();
  if (is_narrow()) {
    const Payload room = own_sum_.add(sum_capacity(*own));
    own_sum_.resize_last(round().promote(*own, sources, ranks(), room));
  } else {
    merge(*own, sources, own_sum_);
  }
  if (is_narrow() ? traits().finishes_promoted() : traits().finishes_sums()) {
    const std::size_t words = own_sum_.part(0).size();
    own_sum_.resize_last(sum_capacity(*own));
    own_sum_.resize_last(round().finish(*own, own_sum_.part(0), words));
  }
}

/// In the order of ranks.
void RoundsImpl::merge(const Piece& piece, std::span<const ConstPayload> sources,
                       RoundWords& sums) {
  if (traits().merges_itself()) {
    const Payload room = sums.add(sum_capacity(piece));
    sums.resize_last(round().merge(piece, sources, room));
    return;
  }
  std::vector<const void*> addresses;
  for (const ConstPayload source : sources) addresses.push_back(source.data());
  const Payload sum = sums.add(sources[0].size());
  kernels::kernel_table().merge(traits().merge, addresses.data(), addresses.size(),
                                sum.size_bytes(), sum.data());
}

bool RoundsImpl::sums_have_own_lengths() const {
  return traits().varies() || traits().merges_itself();
}

const RoundStep* RoundsImpl::sums_step() {
  if (sums_have_own_lengths()) {
    const std::vector<std::uint64_t> lengths = received_;
    for (std::size_t owner = 0; owner < ranks(); ++owner) {
      const std::size_t most = owner < pieces_.size() ? sum_capacity(pieces_[owner]) : 0;
      if (lengths[owner] > most)
        refuse("rank " + std::to_string(owner) + " has a sum of " + std::to_string(lengths[owner]) +
               " words of round " + std::string(traits().name) + ", which has at most " +
               std::to_string(most));
      receive_counts_[owner] = lengths[owner];
    }
  } else {
    receive_counts_.assign(ranks(), 0);
    for (const Piece& piece : pieces_)
      receive_counts_[piece.index] = traits().finishes_sums()
                                         ? round().finished_capacity(ranks(), piece.count)
                                         : round().capacity(ranks(), piece.count);
  }
  send_counts_.assign(1, own_sum_.parts() == 0 ? 0 : own_sum_.part(0).size());
  return exchange_step(Stage::sums, Collective::all_gather, own_sum_.all());
}

void RoundsImpl::take_sums() {
  RoundWords& result = sums();
  result.clear();
  const auto parts = received_parts();
  for (const Piece& piece : pieces_)
    std::ranges::copy(parts[piece.index], result.add(parts[piece.index].size()).begin());
  use_sums();
}

}  // namespace cohom
