#include "plan/plan_core.hpp"

#include "base/log.hpp"
#include "memory/device_loader.hpp"
#include "plan/named_codec.hpp"
#include "plan/native_choice.hpp"
#include "plan/offloading.hpp"
#include "plan/plan_checks.hpp"
#include "plan/plan_placement.hpp"
#include "plan/plan_signature.hpp"
#include "plan/plan_workers.hpp"
#include "transport/checksum_channel.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cohom {

PlanCore::PlanCore(const PlanEnvironment& environment, const PlanShape& shape,
                   const PlanOptions& options, const Placement& placement)
    : vector_(shape, environment.transport->ranks()),
      divisor_(options.op == ReduceOp::mean ? std::uint64_t(environment.transport->ranks()) : 1),
      kernels_(*environment.kernels),
      options_(options),
      message_bytes_(environment.transport->preferred_message_bytes()) {
  const Transport& transport = *environment.transport;
  check_ranks(transport.ranks());
  check_transport(options.transport, transport);
  check_op(shape, options.op);
  if (shape.gathers()) options_.segment = 0;  // a part is compressed at once
  if (shape.collective != ReductionKind::allreduce)
    vector_.part.emplace(shape, transport.rank(), transport.ranks());
  NamedCodec named = named_codec(environment, vector_, options_, divisor_);
  PlanCodec& codec = named.codec;
  chosen_by_length_ = named.by_length;
  auto made = codec.make();  // also when it will be bypassed: a wrong parameter is an error
  asked_codec_ = codec.spec();
  state_.wanted = made->state_bytes(std::max<std::size_t>(vector_.count, 1)) != 0;
  const RouteChoice choice =
      choose_way(environment, codec, made->payload().traits().merge, placement);
  const AlgorithmRow& algorithm = *choice.selection.algorithm;
  const bool only_native = algorithm.build == nullptr;
  PlanCodec third = codec;
  if (choice.selection.third_bypass) third.bypass();
  made = fit_codec(environment, codec, std::move(made), choice.selection, placement);
  offloading_ = choice.network;
  if (options.own_thread)
    check_own_thread(transport, algorithm,
                     only_native || (algorithm.needs_aggregator && !choice.network));
  describe(codec, choice);
  if (only_native) {
    description_.memory = description_.path = "host";
    log_route(transport.rank());
  } else {
    race_.third_codec = third.spec();
    make_routes(environment, codec, std::move(made), choice);
    // The plan's is fit for its work already.
    prepare_third_way(environment, third.name() == codec.name() ? codec : third);
  }
}

RouteChoice PlanCore::choose_way(const PlanEnvironment& environment, const PlanCodec& codec,
                                 Merge payload, const Placement& placement) {
  const int ranks = environment.transport->ranks();
  RouteChoice choice = choose_route(environment, options_,
                                    {.codec = codec.name(),
                                     .payload = payload,
                                     .bytes = vector_.bytes(),
                                     .collective = vector_.shape.collective,
                                     .decodes_parts = codec.row().decodes_parts,
                                     .may_be_bypassed = codec.may_be_bypassed(ranks)});
  race_.sums = choose_native(environment, options_,
                             {.codec = codec,
                              .shape = vector_.shape,
                              .kind = kind_of(vector_.shape, ranks, asked_codec_),
                              .bytes = vector_.bytes(),
                              .keeps_state = state_.wanted,
                              .placement = placement},
                             choice);
  return choice;
}

/// Makes it what the selection, the parts and the buffers want.
std::unique_ptr<Codec> PlanCore::fit_codec(const PlanEnvironment& environment, PlanCodec& codec,
                                           std::unique_ptr<Codec> made, const Selection& selection,
                                           const Placement& placement) {
  const Transport& transport = *environment.transport;
  const std::size_t users_bytes = vector_.bytes();
  description_.bypass = selection.bypass && codec.may_be_bypassed(transport.ranks());
  if (description_.bypass) {
    log_once_for_all(transport.rank(),
                     "codec " + asked_codec_ + " bypassed for " + std::to_string(vector_.bytes()) +
                         " bytes, where compressing only takes time: " + selection.reason);
    codec.bypass();
    made = codec.make();
  }
  const AlgorithmRow& algorithm = *selection.algorithm;
  vector_.decodes_parts = vector_.part && codec.decodes_parts() && algorithm.chunk_of_rank;
  if (vector_.decodes_parts) made = vector_.align_part(codec, std::move(made));
  if (placement.on_device()) {
    move_to_device(transport, placement, runs_on_device(codec, placement, algorithm));
    const DeviceWork::Use use(device_work().get());
    if (device_work()) made = codec.make(*device_work());
  }
  if (device_work() || algorithm.build == nullptr) return made;
  const auto& workers = routes_.first.workers =
      workers_for(codec, users_bytes, options_.threads, environment);
  codec.set_workers(workers ? workers->workers() : 0);
  return workers ? codec.make() : std::move(made);
}

void PlanCore::describe(const PlanCodec& codec, const RouteChoice& choice) {
  description_.codec = codec.spec();
  description_.algorithm = choice.selection.algorithm->name;
  description_.reason = choice.selection.reason;
  description_.not_offloaded = choice.not_offloaded;
}

const std::string& PlanCore::state_key() {
  if (state_.key.empty()) state_.key = vector_.state_key(description_.codec);
  return state_.key;
}

void PlanCore::log_route(int rank) const {
  if (!logs_info()) return;
  log_once_for_all(rank, "codec " + description_.codec + " by " + description_.algorithm + ": " +
                             description_.reason);
}

void PlanCore::move_to_device(const Transport& transport, const Placement& placement, bool there) {
  const bool reaches = there && words_stay_on_device(transport, options_.checksum);
  device_ = std::make_unique<DevicePlan>(
      *loaded_device_library(), placement,
      vector_.shape.bytes_of_rank(transport.rank(), transport.ranks()), there, reaches);
  if (reaches) message_bytes_ = transport.preferred_device_message_bytes();
}

RouteMaterial PlanCore::material(const PlanEnvironment& environment) const {
  return {.environment = environment,
          .count = vector_.count,
          .type = type(),
          .collective = vector_.decodes_parts ? vector_.shape.collective : ReductionKind::allreduce,
          .root = vector_.shape.root,
          .segment = options_.segment,
          .whole_chunks = vector_.shape.gathers(),
          .message_bytes = message_bytes_,
          .device = device_work() ? device_.get() : nullptr,
          .workers = routes_.first.workers};
}

void PlanCore::make_routes(const PlanEnvironment& environment, const PlanCodec& codec,
                           std::unique_ptr<Codec> first, const RouteChoice& choice) {
  const DeviceWork::Use use(device_work().get());
  const AlgorithmRow& algorithm = *choice.selection.algorithm;
  if (vector_.part) {
    vector_.part->work_in(device_work() ? device_work()->memory() : host_memory(),
                          !vector_.decodes_parts);
    routes_.part = &*vector_.part;
  }
  const RouteMaterial material = this->material(environment);
  Aggregator* const aggregator =
      algorithm.in_network ? &offloading_->aggregator() : environment.native_reductions;
  routes_.first = make_route(material, std::move(first), algorithm, aggregator);
  log_route(environment.transport->rank());
  description_.memory = device_work() ? "cuda" : "host";
  description_.path = path_of(device_.get(), *environment.transport);
  if (!device_)
    routes_.first_sum =
        make_short_sum(material, *routes_.first.codec, algorithm, divisor_, options_.checksum);
  race_.own = &algorithm;
  // What executors refuse would show in the middle of the race.
  if (!vector_.part && routes_.first.takes_any_piece) race_.third = choice.selection.third;
  race_.entry = race_.of(environment, vector_.shape, short_sum() != nullptr, description_.codec,
                         asked_codec_);
  if (offloading_ != nullptr) {
    routes_.other =
        make_route(material, codec.make(), *choice.other_algorithm, environment.native_reductions);
    description_.other_algorithm = choice.other_algorithm->name;
  }
  routes_.describe(vector_.count, description_);
  // A race begins natively, but what executors refuse, long pieces, shows in the first call.
  if ((!race_.entry && !short_sum()) || !routes_.first.takes_any_piece) routes_.make_executors();
}

/// `codec`: of that way. It compresses where the plan's own bypasses the codec, or the other way
/// round, or is the same.
void PlanCore::prepare_third_way(const PlanEnvironment& environment, const PlanCodec& codec) {
  if (!race_.has_third()) return;
  description_.third_algorithm = race_.third->name;
  description_.third_codec = race_.third_codec;
  RouteMaterial material = this->material(environment);
  if (race_.third_codec != description_.codec) material.workers = nullptr;
  if (codec.name() == "raw")
    routes_.third_sum =
        make_short_sum(material, *codec.make(), *race_.third, divisor_, options_.checksum);
  if (routes_.third_sum) return;
  routes_.make_third = [material, codec, algorithm = race_.third] {
    return make_route(material, codec.make(), *algorithm, nullptr);
  };
}

/// Up to ShortSum::short_bytes the selection is the same, and no codec refuses a length. A file may
/// have decided otherwise for another length.
bool PlanCore::serves(const PlanEnvironment& environment, const PlanShape& shape) const {
  PlanShape same = vector_.shape;
  same.count = shape.count;
  const std::size_t bytes = std::max(shape.count, vector_.count) * size_of(shape.type);
  return short_sum() && same == shape && bytes <= ShortSum::short_bytes && !routes_.third_sum &&
         !vector_.part && !state_.wanted && !chosen_by_length_ && !routes_.first.executor &&
         !routes_.first.workers && !routes_.make_third &&
         !(race_.third && race_.holds(environment, shape, true)) &&
         (environment.races == nullptr || !environment.races->follow_file());
}

void PlanCore::become(const PlanEnvironment& environment, std::size_t count) {
  PlanShape shape = vector_.shape;
  shape.count = count;
  RouteRaces::Entry* const entry =
      race_.of(environment, shape, true, description_.codec, asked_codec_);
  short_sum()->become(count);
  race_.entry = entry;
  vector_.shape = shape;
  vector_.count = count;
  routes_.first.setup.elements = count;
  state_.key.clear();
  if (!calls.signature.empty()) calls.signature.set("count", count);
}

void PlanCore::finish(const void* sum, void* output) const {
  if (sum == output && divisor_ == 1) return;
  if (vector_.shape.gathers())
    std::memcpy(output, sum, vector_.bytes());  // as MPI's elements are where there is no copy
  else
    kernels_.finish_elements(type(), sum, vector_.shape.count, divisor_, output);
}

PlanCore::~PlanCore() {
  if (device_) device_->drain();
}

const std::shared_ptr<DeviceWork>& PlanCore::device_work() const {
  static const std::shared_ptr<DeviceWork> none;
  return device_ && device_->runs_there() ? device_->work() : none;
}

void PlanCore::add_to_signature(CallSignature& signature) const {
  sign_plan({.shape = vector_.shape,
             .options = options_,
             .description = description_,
             .asked_codec = asked_codec_,
             .message_bytes = message_bytes_,
             .offloads = offloading_ != nullptr},
            signature);
  add_memory_to_signature(signature);
}

void PlanCore::add_memory_to_signature(CallSignature& signature) const {
  sign_memory(options_, description_, signature);
}

std::unique_ptr<Channel> PlanCore::wrap(std::unique_ptr<Channel> channel) const {
  if (options_.checksum)
    channel = std::make_unique<ChecksumChannel>(std::move(channel), routes_.first.codec->rounds());
  return device_ ? device_->wrap(std::move(channel)) : std::move(channel);
}

}  // namespace cohom
