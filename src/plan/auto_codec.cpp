#include "plan/auto_codec.hpp"

#include "base/text.hpp"
#include "codecs/common/nmse.hpp"
#include "plan/selector.hpp"
#include "plan/spec.hpp"
#include "plan/wire_bytes.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cohom {

namespace {

constexpr std::string_view name = "auto";

constexpr ParameterInfo parameters[] = {
    {"nmse", name, nmse_range, "squared error of the sum over the exact sum's square"}};

struct Candidate {
  const CodecRow* row = nullptr;
  KeepingNmse keeping;
  std::uint64_t bytes = 0;  ///< that a rank sends
};

std::string spec_of(const Candidate& candidate) {
  return canonical_spec(*candidate.row, candidate.keeping.parameters);
}

/// What a codec makes: the whole vector, or the part of one rank alone.
BytesQuery query_of(const Parameters& given, const AutoCodecQuestion& question) {
  const auto parts = static_cast<std::size_t>(question.gathers ? question.ranks : 1);
  return {.parameters = given,
          .elements = question.elements / parts,
          .type = question.type,
          .ranks = question.gathers ? 1 : question.ranks};
}

/// Of rank 0: what differs between ranks are ragged chunks.
std::uint64_t bytes_of(const Candidate& candidate, const BytesQuery& query,
                       const AutoCodecQuestion& question) {
  const CodecBytes& bytes = candidate.keeping.bytes;
  if (question.gathers) {
    const std::uint64_t part =
        bytes.narrow ? bytes.contribution(query.elements) : bytes.sum(query.elements);
    return static_cast<std::uint64_t>(question.ranks - 1) * (bytes.agreement + part);
  }
  const AlgorithmRow& algorithm =
      *select_algorithm(question.algorithm,
                        {.codec = candidate.row->info.name,
                         .bytes = question.elements * size_of(question.type),
                         .ranks = question.ranks,
                         .nodes = question.nodes.empty() ? 0 : std::ranges::max(question.nodes) + 1,
                         .allreduce = question.allreduce})
           .algorithm;
  const auto words = [&](std::size_t) { return bytes.agreement; };
  const std::uint64_t agreement =
      bytes_sent(algorithm_for_small_rounds(), {.contribution = words, .sum = words},
                 question.elements, 0, question.ranks);
  if (algorithm.needs_aggregator)  // which gets lanes that add, and sends as many
    return agreement + 2 * bytes.sum(question.elements);
  return agreement + bytes_sent(algorithm, bytes, question.elements, 0, question.ranks,
                                question.nodes, question.switches);
}

/// Whether others than ranks can be asked to add the codec's payload.
bool can_be_added_by(const AlgorithmRow* algorithm, const CodecRow& row, const KeepingNmse& keeping,
                     const AutoCodecQuestion& question) {
  if (algorithm == nullptr || !algorithm->needs_aggregator) return true;
  const auto codec = row.make({.ranks = question.ranks,
                               .type = question.type,
                               .kernels = kernels::kernel_table(),
                               .parameters = keeping.parameters});
  return !codec->payload().traits().merges_itself();
}

std::vector<Candidate> candidates(double nmse, const Parameters& given,
                                  const AutoCodecQuestion& question) {
  const BytesQuery query = query_of(given, question);
  const AlgorithmRow* const asked = find_algorithm(question.algorithm);
  std::vector<Candidate> found;
  for (const CodecRow& row : codec_table()) {
    if (row.keeping_nmse == nullptr) continue;
    auto keeping = row.keeping_nmse(nmse, query);
    if (!keeping || !can_be_added_by(asked, row, *keeping, question)) continue;
    found.push_back({.row = &row, .keeping = std::move(*keeping)});
    found.back().bytes = bytes_of(found.back(), query, question);
  }
  return found;
}

std::string reason_of(const Candidate& chosen, const std::vector<Candidate>& all) {
  std::string text = std::to_string(chosen.bytes) + " bytes a call are expected of a rank";
  for (const Candidate& other : all)
    if (other.row != chosen.row)
      text += ", " + std::to_string(other.bytes) + " with " + spec_of(other);
  return text;
}

}  // namespace

ChosenCodec choose_codec(std::string_view text, const AutoCodecQuestion& question) {
  const Spec spec = parse_spec(text);
  if (spec.name != name) return {std::string(text)};
  const ParameterReader reader(name, parameters, spec.parameters);
  if (!reader.given("nmse"))
    throw Error(ErrorKind::invalid_argument,
                "codec \"" + std::string(text) +
                    "\" does not say which error sums may have; give it, as auto:nmse=1e-3 does "
                    "(squared error of the sum over the exact sum's square)");
  const double nmse = reader.fraction("nmse", min_nmse, max_nmse);
  const auto all = candidates(nmse, spec.parameters, question);
  const auto chosen = std::ranges::min_element(all, {}, &Candidate::bytes);
  if (chosen == all.end())
    reader.reject("nmse", "results of " + std::string(name_of(question.type)) +
                              " are rounded, and no codec keeps it; give " +
                              nmse_text(std::max(min_nmse, nmse_of_rounding(question.type))) +
                              " or more");
  return {spec_of(*chosen), reason_of(*chosen, all)};
}

}  // namespace cohom
