#include "scale/codec_model.hpp"

#include "codecs/codec_table.hpp"
#include "kernels/table/kernel_table.hpp"
#include "scale/network_shape.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

namespace cohom::bench {
namespace {

constexpr std::size_t many_elements = 1 << 16;

SlotBytes by_content(const CodecBytes& bytes, int ranks) {
  return [bytes, ranks](const Slot& slot, std::size_t elements) {
    if (elements == 0) return std::uint64_t{0};
    if (slot.form == Form::narrow) return bytes.contribution(elements);
    return slot.contributions == static_cast<std::uint32_t>(ranks)
               ? bytes.result(elements)
               : bytes.partial_sum(slot.room, elements);
  };
}

/// Sums of k independent values are sqrt(k) times as wide.
SlotBytes widening(const CodecBytes& bytes, int ranks) {
  return [bytes, ranks](const Slot& slot, std::size_t elements) {
    const bool complete = slot.contributions == static_cast<std::uint32_t>(ranks);
    const double more = complete ? 0 : 0.5 * std::log2(double(slot.contributions));
    return bytes.sum(elements) +
           static_cast<std::uint64_t>(more * static_cast<double>(elements) / 8);
  };
}

/// Plans' own rule: messages are not too short for what they cost, and one has room for what may
/// vary in length.
std::size_t longest_segment(const Codec& codec, int ranks) {
  constexpr std::size_t shortest = 8192, usual = 32768, most = std::size_t{1} << 18;
  constexpr std::size_t short_message = 8192;  // bytes
  const Round& payload = codec.payload();
  const auto all = static_cast<std::size_t>(ranks);
  const std::size_t contributions = payload.traits().narrow() ? alone : all;
  std::size_t longest = usual;
  while (longest < most && payload.capacity(contributions, longest) * 8 < short_message)
    longest *= 2;
  if (payload.traits().merges_itself())
    while (longest > shortest && payload.capacity(all, longest) * 8 > NetworkShape::message_bytes)
      longest -= codec.block();
  return longest;
}

/// Likewise, of all chunks of a message that has several.
std::size_t shortest_message(const Codec& codec, int ranks) {
  constexpr std::size_t shortest = 8192, most = 32768;
  constexpr std::size_t most_bytes = 65536;
  const Round& payload = codec.payload();
  const std::size_t contributions =
      payload.traits().narrow() ? alone : static_cast<std::size_t>(ranks);
  std::size_t elements = most;
  while (!payload.traits().varies() && elements > shortest &&
         payload.capacity(contributions, elements) * 8 > most_bytes)
    elements /= 2;
  return elements;
}

void add_rounds(CodecModel& model, const std::shared_ptr<Codec>& codec, int ranks) {
  codec->begin({.type = ElementType::f32});
  for (const Round* const round : codec->rounds()) {
    if (round->traits().is_fallback()) model.may_fall_back = true;
    if (round->traits().time != RoundTime::before_payload || codec->skips(*round)) continue;
    model.small_rounds.push_back(
        {.in_units = round->traits().scope == RoundScope::piece,
         .bytes = [codec, round, ranks](std::size_t elements) {
           return std::uint64_t{8} * round->capacity(static_cast<std::size_t>(ranks), elements);
         }});
  }
}

}  // namespace

CodecModel model_codec(const std::string& name, const Parameters& parameters,
                       const ModelledVector& vector, bool at_once) {
  const CodecRow& row = find_codec(name);
  const bool widens = name == "packed" && !at_once;
  const BytesQuery query{parameters, at_once || widens, vector.elements, ElementType::f32,
                         vector.ranks};
  const auto bytes = row.bytes != nullptr ? row.bytes(query) : bytes_of_rounds(row.make, query);
  if (!bytes) {
    // Says which parameter is wrong, if one is.
    static_cast<void>(row.make({.ranks = vector.ranks,
                                .type = ElementType::f32,
                                .kernels = kernels::kernel_table(),
                                .parameters = parameters}));
    throw std::runtime_error(fmt::format(
        "what {} sends on {} ranks is not known beforehand (cohom-scale --mode executor runs it)",
        name, vector.ranks));
  }
  CodecModel model{
      .block = bytes->block,
      .bytes = widens ? widening(*bytes, vector.ranks) : by_content(*bytes, vector.ranks),
      .input = {.ranks = vector.ranks,
                .narrow = bytes->narrow,
                .disjoint = bytes->disjoint,
                .promotes_some = bytes->promotes_some,
                .grows = static_cast<bool>(bytes->growing)},
      .at_once = bytes->at_once};
  const std::shared_ptr<Codec> codec = row.make({.ranks = vector.ranks,
                                                 .type = ElementType::f32,
                                                 .kernels = kernels::kernel_table(),
                                                 .parameters = parameters,
                                                 .elements = vector.elements});
  if (codec->payload().traits().varies())
    model.room = 8.0 * double(codec->payload().capacity(std::size_t(vector.ranks), many_elements)) /
                 double(bytes->sum(many_elements));
  model.longest_segment = longest_segment(*codec, vector.ranks);
  model.shortest_message = shortest_message(*codec, vector.ranks);
  add_rounds(model, codec, vector.ranks);
  return model;
}

CodecModel plain_floats(int ranks) {
  return {.bytes = [](const Slot&, std::size_t elements) { return elements * sizeof(float); },
          .input = {.ranks = ranks}};
}

}  // namespace cohom::bench
