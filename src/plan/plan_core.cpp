#include "plan/plan_core.hpp"

#include "base/log.hpp"
#include "base/tags.hpp"
#include "base/text.hpp"
#include "base/vector_bytes.hpp"
#include "memory/device_loader.hpp"
#include "plan/auto_codec.hpp"
#include "plan/native_choice.hpp"
#include "plan/offloading.hpp"
#include "plan/plan_placement.hpp"
#include "plan/plan_workers.hpp"
#include "transport/checksum_channel.hpp"

#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cohom {

namespace {

void check_ranks(int ranks) {
  if (ranks > max_ranks)
    throw Error(ErrorKind::unsupported, std::to_string(ranks) + " ranks; at most " +
                                            std::to_string(max_ranks) + " are supported");
}

void check_transport(std::string_view wanted, const Transport& transport) {
  if (wanted.empty() || wanted == transport.name()) return;
  throw Error(
      ErrorKind::invalid_argument,
      "transport \"" + std::string(wanted) + "\" is not this communicator's, which is " +
          std::string(transport.name()) +
          "; it is chosen when a communicator is made (MPIX_ functions: in the first call)");
}

/// `mpi_sums`: all of the vector or of its words, by that algorithm.
void check_own_thread(const Transport& transport, const AlgorithmRow& algorithm, bool mpi_sums) {
  std::string why = transport.why_not_in_own_thread();
  if (why.empty() && mpi_sums)
    why =
        "algorithm " + std::string(algorithm.name) + " is MPI's, which sums in the caller's thread";
  if (!why.empty())
    throw Error(ErrorKind::unsupported, "progress=thread: " + why + "; take progress=call");
}

std::size_t agreement_rounds(const Codec& codec) {
  const auto rounds = codec.rounds();
  return static_cast<std::size_t>(std::count_if(
      rounds.begin(), rounds.end(),
      [](const Round* round) { return round->traits().time == RoundTime::before_payload; }));
}

}  // namespace

PlanCore::PlanCore(const PlanEnvironment& environment, const PlanShape& shape,
                   const PlanOptions& options, const Placement& placement)
    : shape_(shape),
      count_(shape.elements(environment.transport->ranks())),
      type_(shape.type),
      divisor_(options.op == ReduceOp::mean ? std::uint64_t(environment.transport->ranks()) : 1),
      kernels_(*environment.kernels),
      options_(options),
      message_bytes_(environment.transport->preferred_message_bytes()) {
  const Transport& transport = *environment.transport;
  const int ranks = transport.ranks();
  check_ranks(ranks);
  check_transport(options.transport, transport);
  if (shape.collective != ReductionKind::allreduce) part_.emplace(shape, transport.rank(), ranks);
  const std::size_t bytes = count_ * size_of(type_);
  const ChosenCodec chosen = choose_codec(options.codec, {.algorithm = options.algorithm,
                                                          .elements = count_,
                                                          .type = type_,
                                                          .ranks = ranks,
                                                          .nodes = environment.nodes,
                                                          .switches = environment.switches});
  if (!chosen.reason.empty())
    log_once_for_all(transport.rank(), "codec " + options.codec + " for " + std::to_string(bytes) +
                                           " bytes is " + chosen.spec + ": " + chosen.reason);
  PlanCodec codec(chosen.spec, {.rank = transport.rank(),
                                .ranks = ranks,
                                .type = type_,
                                .divisor = divisor_,
                                .kernels = *environment.kernels,
                                .elements = count_,
                                .mean = options.op == ReduceOp::mean});
  auto made = codec.make();  // also when it will be bypassed: a wrong parameter is an error
  asked_codec_ = codec.spec();
  wants_state_ = made->state_bytes(std::max<std::size_t>(count_, 1)) != 0;
  RouteChoice choice = choose_route(
      environment, options,
      {.codec = codec.name(), .payload = made->payload().traits().merge, .bytes = bytes});
  if (part_) choose_parts(codec, placement, choice);
  native_ = choose_native(environment, options_,
                          {.codec = codec,
                           .shape = shape_,
                           .kind = kind(ranks),
                           .bytes = bytes,
                           .keeps_state = wants_state_,
                           .placement = placement},
                          choice);
  description_.bypass =
      choice.selection.bypass && !(codec.bounds_errors() && ranks > 1) && !codec.takes_many();
  if (description_.bypass) {
    log_once_for_all(transport.rank(),
                     "codec " + asked_codec_ + " bypassed for " + std::to_string(bytes) +
                         " bytes, where compressing only takes time: " + choice.selection.reason);
    codec.bypass();
    made = codec.make();
  }
  decodes_parts_ = part_ && codec.row().decodes_parts && choice.selection.algorithm->chunk_of_rank;
  if (decodes_parts_) made = align_part(codec, std::move(made));
  if (placement.on_device()) {
    move_to_device(transport, placement,
                   runs_on_device(codec, placement, *choice.selection.algorithm));
    const DeviceWork::Use use(device_work().get());
    if (device_work()) made = codec.make(*device_work());
  }
  const bool only_native = choice.selection.algorithm->build == nullptr;
  if (!device_work() && !only_native) {
    route_.workers = workers_for(codec.row(), bytes, options_.threads, environment);
    codec.set_workers(route_.workers ? route_.workers->workers() : 0);
    if (route_.workers) made = codec.make();
  }
  offloading_ = choice.network;
  if (options.own_thread)
    check_own_thread(
        transport, *choice.selection.algorithm,
        only_native || (choice.selection.algorithm->needs_aggregator && !choice.network));
  description_.codec = codec.spec();
  description_.algorithm = choice.selection.algorithm->name;
  description_.reason = choice.selection.reason;
  description_.not_offloaded = choice.not_offloaded;
  state_key_ = (part_ ? shape.text() + ", " : "") + description_.codec + ", " +
               std::to_string(shape.count) + " elements of " + std::string(name_of(type_)) +
               " on " + counted(std::uint64_t(ranks), "rank");
  if (count_ != shape.elements(ranks))
    state_key_ += ", padded to " + std::to_string(count_ / std::size_t(ranks));
  if (only_native) {
    description_.memory = description_.path = "host";
    log_route(transport.rank());
  } else {
    make_routes(environment, codec, std::move(made), choice);
  }
}

void PlanCore::choose_parts(const PlanCodec& codec, const Placement& placement,
                            RouteChoice& choice) {
  const std::string what(name_of(shape_.collective));
  if (placement.on_device())
    throw Error(ErrorKind::unsupported,
                what + ": a buffer lies on a device; give buffers of the host, or an allreduce");
  Selection& selection = choice.selection;
  // Each rank owns the chunk that it gets.
  const bool automatic = options_.algorithm == "auto" && selection.algorithm->chunk_per_rank;
  if (automatic && !selection.algorithm->chunk_of_rank && codec.row().decodes_parts)
    selection = {find_algorithm("ring"), false,
                 "each rank gets its part of the sum, or the root all parts: " + selection.reason};
}

std::unique_ptr<Codec> PlanCore::align_part(PlanCodec& codec, std::unique_ptr<Codec> made) {
  while (part_->align(made->block())) {
    count_ = part_->elements();
    codec.set_elements(count_);
    made = codec.make();
  }
  return made;
}

CallKind PlanCore::kind(int ranks) const {
  return {.ranks = ranks,
          .codec = asked_codec_,
          .type = type_,
          .size = size_class(shape_.elements(ranks) * size_of(type_)),
          .collective = shape_.collective};
}

void PlanCore::log_route(int rank) const {
  log_once_for_all(rank, "codec " + description_.codec + " by " + description_.algorithm + ": " +
                             description_.reason);
}

void PlanCore::move_to_device(const Transport& transport, const Placement& placement, bool there) {
  device_ = std::make_unique<DevicePlan>(*loaded_device_library(), placement, there);
  reaches_device_ = there && words_stay_on_device(transport, options_.checksum);
  if (reaches_device_) message_bytes_ = transport.preferred_device_message_bytes();
}

void PlanCore::make_routes(const PlanEnvironment& environment, const PlanCodec& codec,
                           std::unique_ptr<Codec> first, const RouteChoice& choice) {
  const DeviceWork::Use use(device_work().get());
  const int ranks = environment.transport->ranks();
  const AlgorithmRow& algorithm = *choice.selection.algorithm;
  if (part_) part_->take_memory(!decodes_parts_);
  const RouteMaterial material{
      .environment = environment,
      .count = count_,
      .type = type_,
      .collective = decodes_parts_ ? shape_.collective : ReductionKind::allreduce,
      .root = shape_.root,
      .segment = options_.segment,
      .message_bytes = message_bytes_,
      .device = device_work() ? device_.get() : nullptr,
      .reaches_device = reaches_device_,
      .workers = route_.workers};
  Aggregator* const aggregator =
      algorithm.in_network ? &offloading_->aggregator() : environment.native_reductions;
  route_ = make_route(material, std::move(first), algorithm, aggregator);
  log_route(environment.transport->rank());
  description_.segment = route_.segment;
  description_.workspace_bytes =
      route_.executor->workspace().size() + route_.executor->apart_workspace().size();
  describe_path(*environment.transport);
  description_.state_bytes = route_.codec->state_bytes(count_);
  description_.agreement_rounds = agreement_rounds(*route_.codec);
  if (part_) description_.workspace_bytes += part_->memory_bytes();
  make_short_sum(environment, algorithm);
  // What travels with the agreement is over when a native sum could begin.
  if (native_ != nullptr && short_sum_ == nullptr)
    race_ = &environment.races->of(kind(ranks), shape_.elements(ranks) * size_of(type_),
                                   description_.codec + " by " + description_.algorithm);
  if (offloading_ == nullptr) return;
  other_route_ =
      make_route(material, codec.make(), *choice.other_algorithm, environment.native_reductions);
  description_.other_algorithm = choice.other_algorithm->name;
  description_.workspace_bytes += other_route_.executor->workspace().size();
}

/// For what recursive doubling adds as it is: the same sums, in the same order.
void PlanCore::make_short_sum(const PlanEnvironment& environment, const AlgorithmRow& algorithm) {
  const RoundTraits& traits = route_.codec->payload().traits();
  const std::size_t bytes = count_ * size_of(type_);
  const int ranks = environment.transport->ranks();
  if (ranks == 1 || device_ || traits.identity == Identity::none ||
      algorithm.name != "recursive_doubling" || bytes > ShortSum::max_bytes)
    return;
  short_sum_ = std::make_unique<ShortSum>(*environment.kernels, type_, count_, divisor_,
                                          sizeof(MaximumExchange::Table), options_.checksum);
}

void PlanCore::finish(const void* sum, void* output) const {
  if (sum == output && divisor_ == 1) return;
  kernels_.finish_elements(type_, sum, shape_.count, divisor_, output);
}

void PlanCore::describe_path(const Transport& transport) {
  description_.memory = device_work() ? "cuda" : "host";
  description_.path = "host";
  if (!device_) return;
  description_.path = !device_work()    ? "copied"
                      : reaches_device_ ? std::string(transport.device_path())
                                        : "staged";
  log_once("device " + std::to_string(device_->work()->device()) + ", transport " +
           std::string(transport.name()) + ": path " + description_.path);
}

PlanCore::~PlanCore() {
  if (device_) device_->drain();
}

const std::shared_ptr<DeviceWork>& PlanCore::device_work() const {
  static const std::shared_ptr<DeviceWork> none;
  return device_ && device_->runs_there() ? device_->work() : none;
}

void PlanCore::add_to_signature(CallSignature& signature) const {
  // In the order in which differences are named: what the user wrote first, what follows from it
  // last.
  const bool by_address = offloading_ != nullptr && !options_.aggregator.empty();
  signature.number("wire format version", wire_format_version);
  signature.number("count", shape_.count);
  signature.text("element type", std::string(name_of(type_)));
  signature.text("op", std::string(name_of(options_.op)));
  signature.text("codec", description_.codec);
  signature.text("algorithm",
                 description_.algorithm + (by_address ? " by " + options_.aggregator : ""));
  signature.number("segment", description_.segment);
  signature.number("message bytes", message_bytes_);
  signature.text("checksum", options_.checksum ? "on" : "off");
  add_memory_to_signature(signature);
}

/// Segments are cut as the memory likes it, unless somebody says how: then ranks need not agree on
/// it.
void PlanCore::add_memory_to_signature(CallSignature& signature) const {
  signature.text("memory space", options_.segment != 0 ? "any" : description_.memory);
}

std::unique_ptr<Channel> PlanCore::wrap(std::unique_ptr<Channel> channel) const {
  if (options_.checksum)
    channel = std::make_unique<ChecksumChannel>(std::move(channel), route_.codec->rounds());
  return device_ ? device_->wrap(std::move(channel)) : std::move(channel);
}

}  // namespace cohom
