#include "codecs/exact/exact.hpp"

#include "codecs/common/nmse.hpp"
#include "codecs/common/parameters.hpp"
#include "codecs/exact/exact_header.hpp"
#include "codecs/exact/exact_payload.hpp"
#include "codecs/exact/exact_short.hpp"
#include "codecs/exact/exact_vectors.hpp"
#include "codecs/exact/exact_wide.hpp"
#include "kernels/exact/exact.hpp"

#include <cohom/error.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cohom {
namespace {

/// Longer vectors agree on the bits that they need.
constexpr std::size_t max_short_bytes = 1024;

/// Any vector: a header, integers as wide as it says, and what is wider than the payload takes.
class ExactCodec final : public Codec {
 public:
  ExactCodec(const CodecContext& context, bool many)
      : divisor_(context, many ? &vectors_.emplace(call_) : nullptr),
        header_(context, call_),
        wide_(context, divisor_, header_, call_),
        payload_(context, divisor_, header_, wide_, call_) {
    add(header_);
    if (vectors_) add(*vectors_);
    add(payload_);
    add(wide_);
  }

  [[nodiscard]] std::size_t block() const override { return kernels::exact_group; }
  void reserve(std::size_t /*elements*/, std::size_t longest_piece) override {
    payload_.reserve(longest_piece);
  }
  /// A header, where its groups' words begin, and where contributions lie.
  [[nodiscard]] std::size_t device_scratch(std::size_t /*elements*/,
                                           std::size_t longest_piece) const override {
    return payload_.device_scratch(longest_piece);
  }

 private:
  void start() override { header_.start(); }

  std::optional<ExactVectorsRound> vectors_;
  ExactDivisor divisor_;
  ExactHeaderRound header_;
  ExactWideRound wide_;
  ExactPayload payload_;
};

/// One round, whatever the numbers.
class ShortExactCodec final : public Codec {
 public:
  ShortExactCodec(const CodecContext& context, bool many) : payload_(context, many, call_) {
    add(payload_);
  }
  [[nodiscard]] std::size_t block() const override { return kernels::exact_mini; }

 private:
  ExactShortPayload payload_;
};

constexpr ParameterInfo parameters[] = {
    {"vectors", "one", "one, many",
     "that a rank contributes; many: any number, by cohom::ExactSum"},
};

bool takes_many(const Parameters& given) {
  static constexpr std::string_view vectors[] = {"one", "many"};
  return ParameterReader("exact", parameters, given).choice("vectors", vectors) == 1;
}

std::unique_ptr<Codec> make_exact(const CodecContext& context) {
  const bool many = takes_many(context.parameters);
  if (static_cast<std::size_t>(context.ranks) > kernels::exact_max_contributions)
    throw Error(ErrorKind::unsupported, "exact: " + std::to_string(context.ranks) +
                                            " ranks are too many; at most " +
                                            std::to_string(kernels::exact_max_contributions));
  if (context.elements != 0 && context.elements * size_of(context.type) <= max_short_bytes)
    return std::make_unique<ShortExactCodec>(context, many);
  return std::make_unique<ExactCodec>(context, many);
}

/// Lengths depend on the vectors.
std::optional<CodecBytes> exact_bytes(const BytesQuery&) { return std::nullopt; }

/// Sums are rounded once. Fields of normal values are about a bit longer than the values.
std::optional<KeepingNmse> exact_keeping_nmse(double nmse, const BytesQuery& query) {
  if (nmse < nmse_of_rounding(query.type)) return std::nullopt;
  const auto size = static_cast<double>(size_of(query.type));
  const CodecBytes bytes{.block = kernels::exact_group,
                         .contribution = evenly(size + 1.0 / 8),
                         .sum = evenly(size + 1.0 / 8),
                         .finished = evenly(size)};
  return KeepingNmse{.parameters = {}, .bytes = bytes};
}

constexpr CodecSample samples[] = {{.spec = "exact", .rounds_once = true},
                                   {.spec = "exact:vectors=many", .rounds_once = true}};

}  // namespace

const CodecRow& exact_codec() {
  static const CodecRow row{
      .info = {"exact", "correctly rounded sums: the same bits whatever the order and the ranks",
               parameters},
      .make = make_exact,
      .device = {
          .has_kernels = [](const kernels::KernelTable& device) { return complete(device.exact); },
          .is = [](const Parameters& given, ElementType) { return !takes_many(given); },
          .only = "vectors=one"},
      .samples = samples,
      .in_workers = true,
      .decodes_parts = true,
      .bounds_errors = [](const Parameters&) { return true; },
      .takes_many = takes_many,
      .bytes = exact_bytes,
      .keeping_nmse = exact_keeping_nmse,
  };
  return row;
}

}  // namespace cohom
