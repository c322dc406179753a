#include "plan/route_choice.hpp"

#include "base/log.hpp"
#include "plan/offloading.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace cohom {

namespace {

/// What all ranks know alike when they make a plan, whichever of them has reached the aggregator by
/// then: not its answer, but what every one merges that may come and go.
bool merges_for_certain(const Aggregator& aggregator, Merge merge) {
  if (!aggregator.may_fail()) return aggregator.supports(merge);
  return merge.kind == MergeKind::add || merge.kind == MergeKind::bit_or ||
         merge.kind == MergeKind::max;
}

std::string why_not_for_certain(Merge merge) {
  if (merge.kind == MergeKind::add_packed) return "no aggregator merges by " + to_string(merge);
  const auto row = std::ranges::find_if(algorithm_table(), &AlgorithmRow::in_network);
  return "not every aggregator merges by " + to_string(merge) +
         "; algorithm=" + std::string(row->name) + " takes one that does";
}

class Chooser {
 public:
  Chooser(const PlanEnvironment& environment, const PlanOptions& options,
          const RouteQuestion& question)
      : transport_(*environment.transport),
        nodes_(environment.nodes.empty() ? 0 : std::ranges::max(environment.nodes) + 1),
        has_board_(environment.has_board),
        options_(options),
        question_(question) {
    const AlgorithmRow* const asked = find_algorithm(options.algorithm);
    if (options.algorithm == "auto" || (asked != nullptr && asked->in_network))
      network_ = environment.offloading(options.aggregator);
    certain_ = network_ != nullptr && merges_for_certain(network_->aggregator(), question.payload);
  }

  [[nodiscard]] RouteChoice choose() const {
    // Checksums are for messages between ranks: `auto` takes those.
    if (certain_ && options_.checksum && options_.algorithm == "auto")
      return without_network("auto", "checksum=on is for messages between ranks");
    const Selection selection = select(options_.algorithm, certain_);
    if (selection.algorithm->in_network) return by_network(selection);
    if (network_ != nullptr && !certain_)
      return without_network(options_.algorithm, why_not_for_certain(question_.payload));
    return {.selection = selection};
  }

 private:
  [[nodiscard]] Selection select(std::string_view algorithm, bool aggregator,
                                 bool may_go_raw = true) const {
    return select_algorithm(algorithm,
                            {.codec = question_.codec,
                             .bytes = question_.bytes,
                             .ranks = transport_.ranks(),
                             .nodes = nodes_,
                             .aggregator = aggregator,
                             .on_board = has_board_ && may_go_raw && question_.may_be_bypassed,
                             .allreduce = question_.collective == ReductionKind::allreduce});
  }

  /// Says why, if an aggregator that is certain would have been taken.
  [[nodiscard]] RouteChoice without_network(std::string_view algorithm, std::string why) const {
    RouteChoice choice;
    if (select(algorithm, true).algorithm->in_network) {
      choice.not_offloaded = std::move(why);
      log_once_for_all(transport_.rank(), "codec " + std::string(question_.codec) +
                                              " is not offloaded: " + choice.not_offloaded);
    }
    choice.selection = select(algorithm, false);
    return choice;
  }

  [[nodiscard]] RouteChoice by_network(const Selection& selection) const {
    if (network_ == nullptr)
      throw Error(ErrorKind::unsupported,
                  "algorithm " + std::string(selection.algorithm->name) +
                      " needs an aggregator; give its address (Options::aggregator, Info key "
                      "cohom_aggregator, COHOM_AGGREGATOR)");
    // Sums of floats depend on the order of additions.
    const AlgorithmRow* const other = question_.payload.kind == MergeKind::add_float
                                          ? &algorithm_that_merges_at_once()
                                          : select("auto", false, false).algorithm;
    if (transport_.ranks() == 1) return {.selection = {other, false, "one rank: nothing travels"}};
    return {.selection = selection, .network = network_, .other_algorithm = other};
  }

  const Transport& transport_;
  std::uint32_t nodes_;
  bool has_board_;
  const PlanOptions& options_;
  const RouteQuestion& question_;
  Offloading* network_ = nullptr;
  bool certain_ = false;  ///< merges the payload for certain
};

void expect_checksums(const PlanOptions& options, const AlgorithmRow& algorithm) {
  if (options.checksum && (algorithm.needs_aggregator || algorithm.build == nullptr))
    throw Error(ErrorKind::unsupported,
                "checksum=on is for messages between ranks, and algorithm " +
                    std::string(algorithm.name) + " has others sum; take " + algorithms_of_ranks());
}

/// Ranks that each send to all others at once. More send around a ring, unless parts are so short
/// that the ring would only take time.
constexpr int most_direct_senders = 16;
constexpr std::size_t short_part = 4096;  // bytes

RouteChoice choose_gather(const Transport& transport, const PlanOptions& options,
                          const RouteQuestion& question) {
  const int rank = transport.rank(), ranks = transport.ranks();
  Selection selection = select_algorithm(
      options.algorithm,
      {.codec = question.codec, .bytes = question.bytes, .ranks = ranks, .allreduce = false});
  if (!options.aggregator.empty())
    log_once_for_all(rank, "an allgather adds nothing: aggregator " + options.aggregator +
                               " takes no part in it");
  if (options.algorithm == "auto") {
    const bool direct = ranks <= most_direct_senders ||
                        question.bytes / static_cast<std::size_t>(ranks) <= short_part;
    selection.algorithm = find_algorithm(direct ? "direct" : "ring");
    if (!selection.bypass)
      selection.reason =
          direct ? "an allgather of few ranks or short parts" : "an allgather of many ranks";
  }
  const AlgorithmRow& algorithm = *selection.algorithm;
  if (algorithm.build != nullptr && !algorithm.chunk_of_rank)
    throw Error(ErrorKind::unsupported, "algorithm " + std::string(algorithm.name) +
                                            " makes no allgather; take ring, direct, native or "
                                            "auto");
  return {.selection = std::move(selection)};
}

/// Each rank owns the chunk that it gets.
void prefer_parts(const PlanOptions& options, Selection& selection) {
  const bool automatic = options.algorithm == "auto" && selection.algorithm->chunk_per_rank;
  if (automatic && !selection.algorithm->chunk_of_rank)
    selection = {find_algorithm("ring"), false,
                 "each rank gets its part of the sum, or the root all parts: " + selection.reason};
}

}  // namespace

RouteChoice choose_route(const PlanEnvironment& environment, const PlanOptions& options,
                         const RouteQuestion& question) {
  RouteChoice choice;
  if (question.collective == ReductionKind::allgather)
    choice = choose_gather(*environment.transport, options, question);
  else
    choice = Chooser(environment, options, question).choose();
  expect_checksums(options, *choice.selection.algorithm);
  const bool adds_parts = question.collective == ReductionKind::reduce_scatter ||
                          question.collective == ReductionKind::reduce;
  if (adds_parts && question.decodes_parts) prefer_parts(options, choice.selection);
  return choice;
}

}  // namespace cohom
