#include "plan/plan_route.hpp"

#include "base/log.hpp"
#include "memory/memory.hpp"
#include "plan/plan_codec.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace cohom {

namespace {

/// Far above what is useful; the executor counts a unit's bytes in 32 bits.
constexpr std::size_t max_segment = std::size_t{1} << 26;
/// Elements of a vector with which no executor has difficulties.
constexpr std::size_t plain_length = std::size_t{1} << 26;

/// Segments that keep codec slices short and messages at the transport's best size, and that cut
/// every chunk into a few, so that encoding, sending and decoding overlap. Where contributions are
/// very short, messages of such segments would cost more than the codec: then they are longer.
/// A message that speaks of several chunks has one segment of each, which may be shorter.
std::size_t default_segment(const Codec& codec, int ranks, std::size_t message_bytes,
                            std::size_t chunk_elements, std::size_t chunks_a_message) {
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
  std::size_t least = shortest;  // of all chunks of a message
  if (chunks_a_message > 1) {
    least = std::min(4 * shortest, longest);
    while (!payload.traits().varies() && least > shortest &&
           payload.capacity(contributions, least) * 8 > 8 * short_message)
      least /= 2;
  }
  least /= chunks_a_message;
  return std::clamp(chunk_elements / 4, std::min(least, longest), longest);
}

/// A device wants a few megabytes at a time: its kernels and copies each take microseconds to
/// start.
std::size_t default_device_segment(std::size_t chunk_elements) {
  return std::clamp(chunk_elements / 4, std::size_t{1} << 18, std::size_t{1} << 22);
}

void expect_aggregator(const AlgorithmRow& algorithm, const Aggregator* aggregator, int rank) {
  const std::string name(algorithm.name);
  if (aggregator == nullptr)
    throw Error(ErrorKind::unsupported,
                "algorithm " + name + " needs an aggregator, and this communicator has none");
  log_once_for_all(rank, "algorithm " + name + ": " + aggregator->describe());
}

void expect_one_segment(std::size_t chunk) {
  if (chunk > max_segment)
    throw Error(ErrorKind::unsupported, "a part has " + std::to_string(chunk) +
                                            " elements; at most " + std::to_string(max_segment) +
                                            " are compressed at once: gather in several calls");
}

}  // namespace

PlanRoute make_route(const RouteMaterial& material, std::unique_ptr<Codec> codec,
                     const AlgorithmRow& algorithm, Aggregator* aggregator) {
  Transport& transport = *material.environment.transport;
  if (algorithm.needs_aggregator)
    expect_aggregator(algorithm, aggregator, transport.rank());
  else
    aggregator = nullptr;
  const int ranks = transport.ranks();
  const std::size_t count = material.count;
  const RoundTraits& traits = codec->payload().traits();
  const bool gathers_disjoint =
      traits.disjoint() && material.collective == ReductionKind::allreduce;
  const std::size_t chunk = count / algorithm.chunks(ranks, gathers_disjoint);
  DeviceWork* const work = material.device != nullptr ? material.device->work().get() : nullptr;
  PlanRoute route;
  route.transport = &transport;
  route.device = work != nullptr ? material.device : nullptr;
  route.workers = material.workers;
  route.aggregator = aggregator;
  route.takes_any_piece = material.segment == 0 && count <= plain_length;
  if (material.whole_chunks) expect_one_segment(chunk);
  route.segment =
      material.whole_chunks   ? max_segment
      : material.segment != 0 ? std::min(material.segment, max_segment)
      : work != nullptr
          ? default_device_segment(chunk)
          : default_segment(*codec, ranks, material.message_bytes, chunk,
                            chunks_a_message(algorithm, {.ranks = ranks,
                                                         .disjoint = traits.disjoint(),
                                                         .nodes = material.environment.nodes,
                                                         .switches = material.environment.switches,
                                                         .collective = material.collective,
                                                         .root = material.root}));
  expect_capacity(codec->payload().capacity(std::size_t(ranks), count));
  if (work != nullptr) {
    const std::size_t longest_piece = std::min(route.segment, count) + codec->block();
    work->context().reserve(longest_piece, codec->device_scratch(count, longest_piece));
  }
  route.codec = std::move(codec);
  route.setup = ExecutorSetup{
      .place = {.rank = transport.rank(),
                .ranks = ranks,
                .nodes = material.environment.nodes,
                .switches = material.environment.switches},
      .elements = count,
      .type = material.type,
      .codec = route.codec.get(),
      .kernels = material.environment.kernels,
      .memory = work != nullptr ? &work->memory() : &host_memory(),
      .take_memory = [&transport](std::size_t bytes) { return transport.take_memory(bytes); },
      .memory_kernels = work != nullptr ? &work->kernels() : nullptr,
      .algorithm = &algorithm,
      .collective = material.collective,
      .root = material.root,
      .aggregator = aggregator,
      .segment = route.segment,
      .message_bytes = material.message_bytes,
      .tuning = material.environment.tuning,
      .workers = route.workers.get()};
  return route;
}

void PlanRoute::make_executor() {
  if (executor == nullptr) executor = std::make_unique<Executor>(setup);
}

void PlanRoute::take_memory() {
  if (has_memory) return;
  make_executor();
  Workspace& workspace = executor->workspace();
  workspace.take();
  if (transport->ranks() > 1) {
    registration = transport->register_memory(workspace.of_host(), MemorySpace::host);
    if (device != nullptr) device->take_words(workspace.apart(), *transport);
  }
  has_memory = true;
}

std::string path_of(const DevicePlan* device, const Transport& transport) {
  if (device == nullptr) return "host";
  std::string path = !device->runs_there()             ? "copied"
                     : device->words_reach_transport() ? std::string(transport.device_path())
                                                       : "staged";
  log_once("device " + std::to_string(device->work()->device()) + ", transport " +
           std::string(transport.name()) + ": path " + path);
  return path;
}

}  // namespace cohom
