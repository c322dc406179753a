#include "rounds/rounds_impl.hpp"

#include "base/float_mode.hpp"
#include "base/tags.hpp"
#include "call/call_request.hpp"
#include "kernels/table/kernel_table.hpp"
#include "memory/memory.hpp"
#include "memory/placement.hpp"
#include "plan/plan_checks.hpp"

#include <cohom/version.hpp>

#include <limits>
#include <new>

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

/// What all rounds of these vectors need to know.
CodecContext context_of(const PlanShape& shape, int rank, int ranks, ReduceOp op) {
  check_ranks(rank, ranks);
  if (shape.collective == ReductionKind::reduce)
    throw Error(
        ErrorKind::invalid_argument,
        "collective is reduce; there are rounds of allreduce, reduce_scatter and allgather");
  check_op(shape, op);
  return {.rank = rank,
          .ranks = ranks,
          .type = shape.type,
          .divisor = divisor_of(op, ranks),
          .kernels = kernels::kernel_table(),
          .elements = shape.elements(ranks),
          .mean = op == ReduceOp::mean};
}

}  // namespace

RoundsImpl::RoundsImpl(std::string_view codec, std::size_t count, ElementType type, int rank,
                       int ranks, const RoundsOptions& options)
    : shape_{.count = count, .type = type, .collective = options.collective},
      place_{.rank = rank, .ranks = ranks},
      options_(options),
      plan_codec_(codec, context_of(shape_, rank, ranks, options.op)),
      part_(shape_, rank, ranks),
      codec_(make_codec()),
      chunking_(part_.elements(), codec_->block(), static_cast<std::size_t>(ranks), whole_chunks),
      state_(codec_->state_bytes(part_.elements())),
      stepped_(rank, ranks, options),
      status_step_(options) {
  part_.work_in(host_memory(), !decodes_parts());
  part_.take_memory();
  codec_->reserve(part_.elements(), part_.elements() == 0 ? 0 : chunking_.longest_piece());
  for (Round* const each : codec_->rounds()) {
    agreed_.emplace_back(each->traits().scope);
    if (each->traits().time == RoundTime::before_payload) each->keep_agreed_in(agreed_.back());
  }
}

std::unique_ptr<Codec> RoundsImpl::make_codec() {
  if (shape_.gathers()) plan_codec_.compress_parts(shape_.count);
  auto codec = plan_codec_.make();
  while (decodes_parts() && part_.align(codec->block())) {
    plan_codec_.set_elements(part_.elements());
    codec = plan_codec_.make();
  }
  return codec;
}

void RoundsImpl::begin(const void* input, void* output, std::uint64_t step) {
  status_.begin(signature(step), prepare(input, output));
  stage_ = Stage::status;
  round_ = 0;
  stepped_.give_up();
  if (status_.is_wrong_here() || shape_.count == 0) return;
  codec_->begin({.type = shape_.type,
                 .input = part_.input(),
                 .output = part_.output(),
                 .step = step,
                 .state = state_,
                 .pieces = chunking_.pieces(),
                 .first_wanted = part_.first_wanted(),
                 .end_wanted = part_.end_wanted()});
}

CallSignature RoundsImpl::signature(std::uint64_t step) const {
  CallSignature signature;
  signature.text("call", "rounds of " + shape_.text());
  signature.number("wire format version", wire_format_version);
  signature.number("count", shape_.count);
  signature.text("element type", std::string(name_of(shape_.type)));
  signature.text("op", std::string(name_of(options_.op)));
  signature.text("codec", plan_codec_.spec());
  signature.number("ranks", static_cast<std::uint64_t>(place_.ranks));
  signature.text("all_to_all", options_.all_to_all ? "on" : "off");
  signature.number("version of rounds", version_of_ways);
  signature.number("what reductions can do", (options_.has_bit_or ? 1 : 0) +
                                                 (options_.has_small_max ? 2 : 0) +
                                                 (options_.has_unsigned ? 4 : 0));
  signature.text("checks_once", options_.checks_once ? "on" : "off");
  signature.number("step", step);
  return signature;
}

std::optional<Error> RoundsImpl::prepare(const void* input, void* output) {
  try {
    if (auto error = buffer_error(shape_, place_.rank, place_.ranks, input, output)) return error;
    if (shape_.count != 0 && placement_of(input, output, shape_.type).on_device())
      return Error(ErrorKind::unsupported,
                   "input or output lies on a device; rounds take the host's memory");
    part_.prepare(input, output);
    part_.take_memory();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::memory, "out of memory for the parts of a vector");
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
        if (place_.ranks > 1 && !(options_.checks_once && status_.has_been_right()))
          return status_step();
        status_.check_alone();
        break;
      case Stage::agreed:
        status_step_.end_reduction();
        status_.check();
        break;
      case Stage::rounds: break;
    }
    if (stage_ != Stage::rounds && shape_.count != 0) part_.take_input();
    stage_ = Stage::rounds;
    const RoundStep* const step = shape_.count == 0 ? nullptr : rounds_step();
    if (step != nullptr) return step;
    if (shape_.count != 0) part_.write_output();
    stage_ = Stage::over;
    return nullptr;
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
    if (elements > part_.elements())
      throw Error(ErrorKind::transport, "round " + std::string(round.traits().name) +
                                            " would have " + std::to_string(elements) +
                                            " elements of " + std::to_string(part_.elements()) +
                                            ": words were changed on their way");
    if (elements == 0) return false;
    own_chunking_ = std::make_unique<Chunking>(
        elements, codec_->block(), static_cast<std::size_t>(place_.ranks), whole_chunks);
    pieces = own_chunking_->pieces();
  } else if (codec_->skips(round)) {
    return false;
  }
  const bool in_parts = round_ == codec_->payload_round() && decodes_parts();
  stepped_.begin(round, pieces, agreed_[round_],
                 in_parts ? shape_.collective : ReductionKind::allreduce);
  return true;
}

}  // namespace cohom
