#include "rounds/rounds_impl.hpp"

#include "base/float_mode.hpp"
#include "base/tags.hpp"
#include "base/vector_bytes.hpp"
#include "call/call_request.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/placement.hpp"

#include <cohom/version.hpp>

#include <limits>

namespace cohom {

namespace {

/// A segment that no chunk is longer than.
constexpr std::size_t whole_chunks = std::numeric_limits<std::size_t>::max() / 2;

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

}  // namespace

RoundsImpl::RoundsImpl(std::string_view codec, std::size_t count, ElementType type, int rank,
                       int ranks, const RoundsOptions& options)
    : count_(count),
      type_(type),
      ranks_(ranks),
      options_(options),
      plan_codec_(codec, context_of(count, type, rank, ranks, options.op)),
      codec_(plan_codec_.make()),
      chunking_(count, codec_->block(), static_cast<std::size_t>(ranks), whole_chunks),
      state_(codec_->state_bytes(count)),
      stepped_(rank, ranks, options),
      status_step_(options) {
  codec_->reserve(count, count == 0 ? 0 : chunking_.longest_piece());
  for (Round* const each : codec_->rounds()) {
    agreed_.emplace_back(each->traits().scope);
    if (each->traits().time == RoundTime::before_payload) each->keep_agreed_in(agreed_.back());
  }
}

void RoundsImpl::begin(const void* input, void* output, std::uint64_t step) {
  status_.begin(signature(step), error_of(input, output));
  stage_ = Stage::status;
  round_ = 0;
  stepped_.give_up();
  if (status_.is_wrong_here() || count_ == 0) return;
  codec_->begin({.type = type_,
                 .input = input,
                 .output = output,
                 .step = step,
                 .state = state_,
                 .pieces = chunking_.pieces()});
}

CallSignature RoundsImpl::signature(std::uint64_t step) const {
  CallSignature signature;
  signature.number("wire format version", wire_format_version);
  signature.number("count", count_);
  signature.text("element type", std::string(name_of(type_)));
  signature.text("op", std::string(name_of(options_.op)));
  signature.text("codec", plan_codec_.spec());
  signature.number("ranks", static_cast<std::uint64_t>(ranks_));
  signature.text("all_to_all", options_.all_to_all ? "on" : "off");
  signature.number("what reductions can do", (options_.has_bit_or ? 1 : 0) +
                                                 (options_.has_small_max ? 2 : 0) +
                                                 (options_.has_unsigned ? 4 : 0));
  signature.text("checks_once", options_.checks_once ? "on" : "off");
  signature.number("step", step);
  return signature;
}

std::optional<Error> RoundsImpl::error_of(const void* input, const void* output) const {
  try {
    if (auto error = buffer_error(input, output, count_ * size_of(type_))) return error;
    if (count_ != 0 && placement_of(input, output, type_).on_device())
      return Error(ErrorKind::unsupported,
                   "input or output lies on a device; rounds take the host's memory");
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

const RoundStep* RoundsImpl::next() {
  const DefaultFloatMode mode;
  try {
    switch (stage_) {
      case Stage::idle: throw Error(ErrorKind::state, "no call was begun");
      case Stage::over: return nullptr;
      case Stage::status:
        if (ranks_ > 1 && !(options_.checks_once && status_.has_been_right())) return status_step();
        status_.check_alone();
        break;
      case Stage::agreed:
        status_step_.end_reduction();
        status_.check();
        break;
      case Stage::rounds: break;
    }
    stage_ = Stage::rounds;
    const RoundStep* const step = count_ == 0 ? nullptr : rounds_step();
    if (step == nullptr) stage_ = Stage::over;
    return step;
  } catch (...) {
    stage_ = Stage::idle;
    throw;
  }
}

const RoundStep* RoundsImpl::status_step() {
  stage_ = Stage::agreed;
  return status_step_.reduce("status", {MergeKind::max}, status_.words());
}

const RoundStep* RoundsImpl::rounds_step() {
  for (; round_ < codec_->rounds().size(); ++round_) {
    if (!stepped_.has_begun() && !begin_round(*codec_->rounds()[round_])) continue;
    if (const RoundStep* const step = stepped_.next()) return step;
  }
  return nullptr;
}

bool RoundsImpl::begin_round(Round& round) {
  std::span<const Piece> pieces = chunking_.pieces();
  if (round.traits().is_fallback()) {
    const std::size_t elements = round.fallback_elements();
    if (elements > count_)
      throw Error(ErrorKind::transport, "round " + std::string(round.traits().name) +
                                            " would have " + std::to_string(elements) +
                                            " elements of " + std::to_string(count_) +
                                            ": words were changed on their way");
    if (elements == 0) return false;
    own_chunking_ = std::make_unique<Chunking>(elements, codec_->block(),
                                               static_cast<std::size_t>(ranks_), whole_chunks);
    pieces = own_chunking_->pieces();
  } else if (codec_->skips(round)) {
    return false;
  }
  stepped_.begin(round, pieces, agreed_[round_]);
  return true;
}

}  // namespace cohom
