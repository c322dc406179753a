#include "codecs/common/codec_bytes.hpp"

#include "kernels/table/kernel_table.hpp"

#include <cohom/error.hpp>

#include <charconv>
#include <cmath>
#include <memory>

namespace cohom {
namespace {

/// The round that is decoded in the call that has begun.
const Round* decoded_round(const Codec& codec) {
  for (const Round* const round : codec.rounds())
    if (round->traits().time != RoundTime::before_payload && !round->traits().is_fallback() &&
        !codec.skips(*round))
      return round;
  return nullptr;
}

}  // namespace

std::optional<CodecBytes> bytes_of_rounds(std::unique_ptr<Codec> (*make)(const CodecContext&),
                                          const BytesQuery& query) {
  std::shared_ptr<Codec> codec;
  try {
    codec = make({.ranks = query.ranks,
                  .type = query.type,
                  .kernels = kernels::kernel_table(),
                  .parameters = query.parameters,
                  .elements = query.elements});
  } catch (const Error&) {
    return std::nullopt;
  }
  codec->begin({.type = query.type, .step = query.step});
  const Round* const round = decoded_round(*codec);
  if (round == nullptr || round->traits().varies()) return std::nullopt;
  const auto ranks = static_cast<std::size_t>(query.ranks);
  const auto of_contributions = [codec, round](std::size_t contributions) -> RunBytes {
    return [codec, round, contributions](std::size_t elements) {
      return std::uint64_t{8} * round->capacity(contributions, elements);
    };
  };
  const RoundTraits& traits = round->traits();
  CodecBytes bytes{.block = codec->block(),
                   .contribution = of_contributions(traits.narrow() ? alone : ranks),
                   .sum = of_contributions(ranks),
                   .narrow = traits.narrow(),
                   .promotes_some = traits.promotes_some(),
                   .disjoint = traits.disjoint(),
                   .at_once = traits.algorithm == RoundAlgorithm::direct};
  if (traits.grows)
    bytes.growing = [codec, round](std::size_t room, std::size_t elements) {
      return std::uint64_t{8} * round->capacity(room, elements);
    };
  if (traits.finishes_sums() && ranks > 1)
    bytes.finished = [codec, round, ranks](std::size_t elements) {
      return std::uint64_t{8} * round->finished_capacity(ranks, elements);
    };
  for (const Round* const before : codec->rounds())
    if (before->traits().time == RoundTime::before_payload && !codec->skips(*before))
      bytes.agreement += 8 * before->capacity(ranks, query.elements);
  return bytes;
}

RunBytes evenly(double bytes) {
  return [bytes](std::size_t elements) {
    return static_cast<std::uint64_t>(std::llround(bytes * static_cast<double>(elements)));
  };
}

std::string text_of(const Parameters& parameters, std::string_view name,
                    std::string_view otherwise) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string(otherwise) : found->second;
}

std::uint64_t number_of(const Parameters& parameters, std::string_view name,
                        std::uint64_t otherwise) {
  const std::string text = text_of(parameters, name, "");
  std::uint64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double fraction_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const double over = slash == std::string::npos ? 1 : std::stod(text.substr(slash + 1));
  return std::stod(text) / over;
}

}  // namespace cohom
