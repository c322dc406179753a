#include "plan/plan_routes.hpp"

#include "agreement/agreement_words.hpp"
#include "base/log.hpp"
#include "memory/device_work.hpp"

#include <algorithm>
#include <exception>
#include <string>

namespace cohom {

namespace {

/// Of a codec: before the payload.
std::size_t agreement_rounds(const Codec& codec) {
  const auto rounds = codec.rounds();
  return static_cast<std::size_t>(std::count_if(
      rounds.begin(), rounds.end(),
      [](const Round* round) { return round->traits().time == RoundTime::before_payload; }));
}

/// Its text takes memory, too.
void warn_of_missing_way(const std::exception& error) noexcept try {
  warn_once("calls that race go without their third way: " + std::string(error.what()));
} catch (...) {
}

}  // namespace

std::unique_ptr<ShortSum> make_short_sum(const RouteMaterial& material, const Codec& codec,
                                         const AlgorithmRow& algorithm, std::uint64_t divisor,
                                         bool checksum) {
  const int ranks = material.environment.transport->ranks();
  const bool has_board = material.environment.has_board;
  if (ranks == 1 || codec.payload().traits().identity == Identity::none ||
      algorithm.name != "recursive_doubling" ||
      material.count * size_of(material.type) > ShortSum::longest(ranks, has_board, checksum))
    return nullptr;
  return std::make_unique<ShortSum>(*material.environment.kernels, material.type, material.count,
                                    divisor,
                                    ShortSum::Way{.ranks = static_cast<std::size_t>(ranks),
                                                  .on_board = has_board,
                                                  .checksum = checksum,
                                                  .head_bytes = sizeof(AgreementWords::Table)});
}

void PlanRoutes::make_executors() {
  first.make_executor();
  if (other.exists()) other.make_executor();
}

void PlanRoutes::count_memory(std::size_t most, int rank) {
  counted.emplace(most, rank).become(workspace_bytes());
}

void PlanRoutes::take_memory() {
  if (!first.exists()) return;
  const DeviceWork::Use use(first.device != nullptr ? first.device->work().get() : nullptr);
  const bool takes_more = !first.has_memory;
  if (counted && takes_more) counted->make_room();
  if (part != nullptr) part->take_memory();  // which depends on a call's buffers
  first.take_memory();
  if (other.exists()) other.take_memory();
  if (counted && takes_more) counted->become(workspace_bytes());
}

/// A race that a program survives only with more memory would be worse than none. Races have no
/// device.
bool PlanRoutes::take_memory_of_third() noexcept try {
  if (third_sum) {
    take_memory_of(*third_sum);
    return true;
  }
  if (!make_third || third.has_memory) return third.has_memory;
  if (!third.exists()) third = make_third();
  if (counted) counted->make_room();
  third.take_memory();
  if (counted) counted->become(workspace_bytes());
  return true;
} catch (const std::exception& error) {
  third = {};  // else what it did not get would count
  warn_of_missing_way(error);
  return false;
}

void PlanRoutes::take_memory_of(ShortSum& sum) {
  if (sum.has_memory()) return;
  if (counted) counted->make_room();
  sum.take_memory();
  if (counted) counted->become(workspace_bytes());
}

void PlanRoutes::take_all_memory() {
  take_memory();
  if (first_sum) take_memory_of(*first_sum);
  static_cast<void>(take_memory_of_third());  // if it fails, the first turn tries again
}

std::size_t PlanRoutes::workspace_bytes() const {
  std::size_t bytes = part != nullptr && first.executor != nullptr ? part->memory_bytes() : 0;
  for (const PlanRoute* const route : {&first, &other, &third})
    if (route->executor != nullptr) bytes += route->executor->workspace().bytes();
  for (const auto* const sum : {&first_sum, &third_sum})
    if (*sum) bytes += (*sum)->workspace_bytes();
  return bytes;
}

void PlanRoutes::describe(std::size_t elements, PlanDescription& description) const {
  description.segment = first.segment;
  description.state_bytes = first.codec->state_bytes(elements);
  description.agreement_rounds = agreement_rounds(*first.codec);
}

}  // namespace cohom
