#pragma once
// What a codec puts into messages: for the benchmarks' yardstick beside the bytes that a transport
// counted.

#include "codecs/common/codec.hpp"
#include "codecs/common/codec_context.hpp"
#include "codecs/common/index/union_shape.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cohom {

/// Bytes of a run of elements that starts at a block's begin.
using RunBytes = std::function<std::uint64_t(std::size_t elements)>;

struct CodecBytes {
  std::size_t block = 1;
  RunBytes contribution;  ///< in its narrow form, if it has one
  RunBytes sum;           ///< as partial sums travel, and finished ones if `finished` is empty
  /// Of partial sums that are shorter, the fewer contributions they have room for. Empty: as `sum`.
  std::function<std::uint64_t(std::size_t room, std::size_t elements)> growing = {};
  std::uint64_t agreement = 0;  ///< of the vector, in small rounds
  RunBytes finished = {};
  bool narrow = false;         ///< contributions are shorter than sums
  bool promotes_some = false;  ///< as AlgorithmInput's
  bool disjoint = false;       ///< RoundTraits::disjoint()
  bool at_once = false;        ///< RoundAlgorithm::direct, whatever the payload was to take

  [[nodiscard]] std::uint64_t partial_sum(std::size_t room, std::size_t elements) const {
    return growing ? growing(room, elements) : sum(elements);
  }
  [[nodiscard]] std::uint64_t result(std::size_t elements) const {
    return finished ? finished(elements) : sum(elements);
  }
};

/// One call.
struct BytesQuery {
  const Parameters& parameters;
  bool at_once = false;  ///< the algorithm merges all contributions to a chunk in one step
  std::size_t elements = 0;
  ElementType type = ElementType::f32;
  int ranks = 1;
  std::optional<UnionShape> shape = {};  ///< for codecs whose bytes depend on it
  std::uint64_t step = 0;                ///< the call's number, from 0
};

/// Of a codec whose payloads have a fixed length: from the capacities of its rounds. Empty where
/// the codec refuses the call, and for payloads that vary.
std::optional<CodecBytes> bytes_of_rounds(std::unique_ptr<Codec> (*make)(const CodecContext&),
                                          const BytesQuery& query);

/// So many bytes an element.
RunBytes evenly(double bytes);

// Parameters as the user gave them; what is not given is `otherwise`.

std::string text_of(const Parameters& parameters, std::string_view name,
                    std::string_view otherwise);
std::uint64_t number_of(const Parameters& parameters, std::string_view name,
                        std::uint64_t otherwise);
/// "0.1" or "1/10".
double fraction_of(const std::string& text);

}  // namespace cohom
