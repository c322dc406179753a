#include "plan/plan_core.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/seconds.hpp"
#include "base/text.hpp"
#include "codecs/codec_table.hpp"
#include "memory/memory.hpp"
#include "plan/offloading.hpp"
#include "plan/spec.hpp"
#include "transport/checksum_channel.hpp"

#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <algorithm>
#include <limits>

namespace cohom {

namespace {

/// A ring has 2 (n-1) streams, which are numbered in 16 bits of the tag.
constexpr int most_ranks = 32768;

/// Far above what is useful; the executor counts a unit's bytes in 32 bits.
constexpr std::size_t longest_segment = std::size_t{1} << 26;

/// Segments that keep codec slices short and messages at the transport's best size, and that cut
/// every chunk into a few, so that encoding, sending and decoding overlap. Where contributions are
/// very short, messages of such segments would cost more than the codec: then they are longer.
std::size_t default_segment(const Codec& codec, int ranks, std::size_t message_bytes,
                            std::size_t chunk_elements) {
  constexpr std::size_t shortest = 8192;
  constexpr std::size_t short_message = 8192;  // bytes
  constexpr std::size_t most = std::size_t{1} << 18;
  std::size_t longest = message_bytes >= 65536 ? 65536 : 32768;
  // A payload of varying length should fit one message: more would mostly travel empty.
  const Round& payload = codec.payload();
  const auto of_sum = static_cast<std::size_t>(ranks);
  const std::size_t contributions = payload.traits().narrow() ? alone : of_sum;
  while (longest < most && payload.capacity(contributions, longest) * 8 < short_message)
    longest *= 2;
  if (payload.traits().merges_itself())
    while (longest > shortest && payload.capacity(of_sum, longest) * 8 > message_bytes)
      longest -= codec.block();
  return std::clamp(chunk_elements / 4, shortest, longest);
}

/// A device wants a few megabytes at a time: its kernels and copies each take microseconds to start.
std::size_t default_device_segment(std::size_t chunk_elements) {
  return std::clamp(chunk_elements / 4, std::size_t{1} << 18, std::size_t{1} << 22);
}

/// What all ranks know alike when they make a plan, whichever of them has reached the aggregator by then:
/// not its answer, but what every one merges that may come and go.
bool merges_for_certain(const Aggregator& aggregator, Merge merge) {
  if (!aggregator.may_fail()) return aggregator.supports(merge);
  return merge.kind == MergeKind::add || merge.kind == MergeKind::bit_or ||
         merge.kind == MergeKind::max;
}

std::string why_not_for_certain(Merge merge) {
  if (merge.kind == MergeKind::add_packed) return "no aggregator merges by " + to_string(merge);
  return "not every aggregator merges by " + to_string(merge) +
         "; algorithm=offload takes one that does";
}

void check_transport(std::string_view wanted, const Transport& transport) {
  if (wanted.empty() || wanted == transport.name()) return;
  throw Error(
      ErrorKind::invalid_argument,
      "transport \"" + std::string(wanted) + "\" is not this communicator's, which is " +
          std::string(transport.name()) +
          "; it is chosen when a communicator is made (MPIX_ functions: in the first call)");
}

std::size_t checked_bytes(std::size_t count, ElementType type) {
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / size_of(type))
    throw Error(ErrorKind::invalid_argument,
                "count " + std::to_string(count) + " overflows: " + std::string(name_of(type)) +
                    " vectors have at most " +
                    std::to_string(std::numeric_limits<std::ptrdiff_t>::max() / size_of(type)) +
                    " elements");
  return count * size_of(type);
}

}  // namespace

std::string ResolvedOptions::key(std::size_t count, ElementType type,
                                 const Placement& placement) const {
  return codec + '|' + algorithm + '|' + std::string(name_of(op)) + '|' + std::to_string(segment) +
         '|' + std::to_string(count) + '|' + std::string(name_of(type)) + '|' + aggregator + '|' +
         transport + '|' + (checksum ? "checksum|" : "") + placement.text();
}

ResolvedOptions resolve(const Options& options) {
  ResolvedOptions resolved{
      .codec = option_or_environment(options.codec, "COHOM_CODEC", "thc"),
      .algorithm = option_or_environment(options.algorithm, "COHOM_ALGORITHM", "auto"),
      .op = options.op,
      .segment = options.segment,
      .aggregator = option_or_environment(options.aggregator, "COHOM_AGGREGATOR", ""),
      .transport = options.transport,
  };
  if (resolved.segment == 0) {
    const std::string text = option_or_environment({}, "COHOM_SEGMENT", "0");
    const auto segment = parse_number<std::size_t>(text);
    if (!segment)
      throw Error(ErrorKind::invalid_argument,
                  "COHOM_SEGMENT=" + text + " is not a number of elements (0: the default)");
    resolved.segment = *segment;
  }
  const std::string checksum = option_or_environment(options.checksum, "COHOM_CHECKSUM", "off");
  resolved.checksum = checksum == "on";
  if (!resolved.checksum && checksum != "off")
    throw Error(ErrorKind::invalid_argument,
                "checksum=" + checksum +
                    " is neither on nor off (Options::checksum, Info key "
                    "cohom_checksum, COHOM_CHECKSUM)");
  return resolved;
}

double timeout_of(const Options& options) {
  if (!are_seconds(options.timeout))
    throw not_seconds("Options::timeout", std::to_string(options.timeout));
  if (options.timeout != 0) return options.timeout;
  const std::string text = option_or_environment({}, "COHOM_TIMEOUT", "0");
  const auto seconds = parse_seconds(text);
  if (!seconds) throw not_seconds("COHOM_TIMEOUT", text);
  return *seconds;
}

PlanCore::PlanCore(const PlanEnvironment& environment, std::size_t count, ElementType type,
                   const ResolvedOptions& options, const Placement& placement)
    : count_(count),
      type_(type),
      op_(options.op),
      message_bytes_(environment.transport->preferred_message_bytes()),
      segment_given_(options.segment != 0),
      checksum_(options.checksum),
      ranks_(environment.transport->ranks()) {
  const Transport& transport = *environment.transport;
  if (transport.ranks() > most_ranks)
    throw Error(ErrorKind::unsupported, std::to_string(transport.ranks()) + " ranks; at most " +
                                            std::to_string(most_ranks) + " are supported");
  check_transport(options.transport, transport);
  const std::size_t bytes = checked_bytes(count, type);
  const Spec spec = parse_spec(options.codec);
  const CodecRow& row = find_codec(spec.name);
  CodecContext context{.rank = transport.rank(),
                       .ranks = transport.ranks(),
                       .type = type,
                       .divisor = op_ == ReduceOp::mean ? std::uint64_t(transport.ranks()) : 1,
                       .kernels = *environment.kernels,
                       .parameters = spec.parameters};
  route_.codec = row.make(context);  // also when it will be bypassed: a wrong parameter is an error
  description_.codec = asked_codec_ = canonical_spec(row, spec.parameters);
  wants_state_ = route_.codec->state_bytes(std::max<std::size_t>(count, 1)) != 0;
  const Selection selection =
      select(environment, options, spec.name, route_.codec->payload().traits().merge);
  if (checksum_ && selection.algorithm->needs_aggregator)
    throw Error(ErrorKind::unsupported,
                "checksum=on is for messages between ranks, and algorithm " +
                    std::string(selection.algorithm->name) +
                    " has others sum; take ring, direct, tree or recursive_doubling");
  const bool bounded =
      row.bounds_errors != nullptr && row.bounds_errors(spec.parameters) && transport.ranks() > 1;
  if (selection.bypass && !bounded) bypass(context, bytes, selection.reason);
  if (placement.on_device()) move_to_device(context, environment, placement, *selection.algorithm);
  const DeviceWork::Use use(device_work().get());
  description_.algorithm = selection.algorithm->name;
  description_.reason = selection.reason;
  make_route(route_, environment, *selection.algorithm, options.segment);
  log_once_for_all(transport.rank(), "codec " + description_.codec + " by " +
                                         description_.algorithm + ": " + selection.reason);
  description_.segment = route_.segment;
  description_.workspace_bytes =
      route_.executor->workspace().size() + route_.executor->apart_workspace().size();
  describe_path(environment);
  description_.state_bytes = route_.codec->state_bytes(count);
  state_key_ = description_.codec + ", " + std::to_string(count_) + " elements of " +
               std::string(name_of(type_)) + " on " + std::to_string(ranks_) +
               (ranks_ == 1 ? " rank" : " ranks");
  if (offloading_ == nullptr) return;
  other_route_.codec = row.make(context);
  make_route(other_route_, environment, *other_algorithm_, options.segment);
  description_.other_algorithm = other_algorithm_->name;
  description_.workspace_bytes += other_route_.executor->workspace().size();
}

/// The algorithm; where that is `offload`, also who offloads, and the algorithm of calls that do not.
Selection PlanCore::select(const PlanEnvironment& environment, const ResolvedOptions& options,
                           std::string_view codec, Merge payload) {
  const int ranks = environment.transport->ranks();
  const std::size_t bytes = count_ * size_of(type_);
  Offloading* network = nullptr;
  if (options.algorithm == "auto" || options.algorithm == "offload")
    network = environment.offloading(options.aggregator);
  const bool certain = network != nullptr && merges_for_certain(network->aggregator(), payload);
  // Checksums are for messages between ranks: `auto` takes those.
  if (certain && checksum_ && options.algorithm == "auto") {
    if (select_algorithm("auto", codec, bytes, ranks, true).algorithm->in_network)
      leave_out_aggregator(environment, codec, "checksum=on is for messages between ranks");
    return select_algorithm("auto", codec, bytes, ranks, false);
  }
  Selection selection = select_algorithm(options.algorithm, codec, bytes, ranks, certain);
  if (!selection.algorithm->in_network) {
    if (network != nullptr && !certain &&
        select_algorithm(options.algorithm, codec, bytes, ranks, true).algorithm->in_network) {
      leave_out_aggregator(environment, codec, why_not_for_certain(payload));
    }
    return selection;
  }
  if (network == nullptr)
    throw Error(
        ErrorKind::unsupported,
        "algorithm offload needs an aggregator; give its address (Options::aggregator, Info "
        "key cohom_aggregator, COHOM_AGGREGATOR)");
  // Sums of floats depend on the order of additions: direct's is that of aggregators.
  other_algorithm_ = payload.kind == MergeKind::add_float
                         ? find_algorithm("direct")
                         : select_algorithm("auto", codec, bytes, ranks, false).algorithm;
  if (ranks == 1) return {other_algorithm_, false, "one rank: nothing travels"};
  offloading_ = network;
  address_ = options.aggregator;
  return selection;
}

void PlanCore::leave_out_aggregator(const PlanEnvironment& environment, std::string_view codec,
                                    std::string why) {
  description_.not_offloaded = std::move(why);
  log_once_for_all(
      environment.transport->rank(),
      "codec " + std::string(codec) + " is not offloaded: " + description_.not_offloaded);
}

/// Takes raw instead of the codec that was asked for.
void PlanCore::bypass(CodecContext& context, std::size_t bytes, const std::string& reason) {
  log_once_for_all(context.rank, "codec " + description_.codec + " bypassed for " +
                                     std::to_string(bytes) + " bytes: " + reason);
  context.parameters.clear();
  route_.codec = find_codec("raw").make(context);
  description_.codec = "raw";
  description_.bypass = true;
}

void PlanCore::make_route(Route& route, const PlanEnvironment& environment,
                          const AlgorithmRow& algorithm, std::size_t segment) const {
  Aggregator* const aggregator =
      algorithm.in_network ? &offloading_->aggregator() : environment.fabric;
  if (algorithm.needs_aggregator && aggregator == nullptr)
    throw Error(ErrorKind::unsupported, "algorithm " + std::string(algorithm.name) +
                                            " needs an aggregator, and this communicator has none");
  if (aggregator != nullptr && algorithm.needs_aggregator)
    log_once_for_all(environment.transport->rank(),
                     "algorithm " + std::string(algorithm.name) + ": " + aggregator->describe());
  const int ranks = environment.transport->ranks();
  const Codec& codec = *route.codec;
  const std::size_t chunk = count_ / algorithm.chunks(ranks, codec.payload().traits().disjoint());
  DeviceWork* const work = device_work().get();
  route.segment = segment != 0      ? std::min(segment, longest_segment)
                  : work != nullptr ? default_device_segment(chunk)
                                    : default_segment(codec, ranks, message_bytes_, chunk);
  expect_room_for(codec.payload().capacity(std::size_t(ranks), count_));
  if (work != nullptr) {
    const std::size_t longest_piece = std::min(route.segment, count_) + codec.block();
    work->context().reserve(longest_piece, codec.device_scratch(count_, longest_piece));
  }
  route.executor = std::make_unique<Executor>(
      ExecutorSetup{.rank = environment.transport->rank(),
                    .ranks = ranks,
                    .elements = count_,
                    .type = type_,
                    .codec = route.codec.get(),
                    .kernels = environment.kernels,
                    .memory = work != nullptr ? &work->memory() : &host_memory(),
                    .memory_kernels = work != nullptr ? &work->kernels() : nullptr,
                    .algorithm = &algorithm,
                    .aggregator = aggregator,
                    .segment = route.segment,
                    .message_bytes = message_bytes_,
                    .tuning = environment.tuning});
  if (ranks == 1) return;
  route.registration =
      environment.transport->register_memory(route.executor->workspace(), MemorySpace::host);
  if (work != nullptr)
    device_->take_words(route.executor->apart_workspace(), *environment.transport, reaches_device_);
}

void PlanCore::sign(CallSignature& signature) const {
  // In the order in which differences are named: what the user wrote first, what follows from it last.
  signature.number("wire format version", wire_format_version);
  signature.number("count", count_);
  signature.text("element type", std::string(name_of(type_)));
  signature.text("op", std::string(name_of(op_)));
  signature.text("codec", description_.codec);
  signature.text("algorithm", description_.algorithm + (address_.empty() ? "" : " by " + address_));
  signature.number("segment", description_.segment);
  signature.number("message bytes", message_bytes_);
  signature.text("checksum", checksum_ ? "on" : "off");
  sign_memory(signature);
}

std::unique_ptr<Channel> PlanCore::wrap(std::unique_ptr<Channel> channel) const {
  if (checksum_)
    channel = std::make_unique<ChecksumChannel>(std::move(channel), route_.codec->rounds());
  return device_ ? device_->wrap(std::move(channel)) : std::move(channel);
}

}  // namespace cohom
