#include "codecs/sparse/sparse.hpp"

#include "codecs/common/index/sparse_index.hpp"
#include "codecs/common/index/sparse_options.hpp"
#include "codecs/common/index/union_bytes.hpp"

#include <cohom/error.hpp>

#include <optional>
#include <string>
#include <utility>

namespace cohom {
namespace {

class SparsePayload final : public Round {
 public:
  /// `index` and `call` outlive it.
  SparsePayload(const CodecContext& context, SparseIndex& index, const CallBuffers& call)
      : Round({.name = "payload",
               .merge = {MergeKind::add_float, context.type},
               .time = RoundTime::payload,
               .length = PayloadLength::varying}),
        type_(context.type),
        divisor_(context.divisor),
        kernels_(context.kernels),
        memory_(context.memory),
        index_(index),
        call_(call) {}

  void reserve(std::size_t longest_piece) { values_ = {memory_, longest_piece * size_of(type_)}; }
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return words_of(elements);
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override;
  void decode(const Piece& piece, ConstPayload sum, std::size_t contributions) override;

 private:
  [[nodiscard]] std::size_t words_of(std::size_t elements) const {
    return (elements * size_of(type_) + 7) / 8;
  }
  [[nodiscard]] kernels::SparseRun run_of(const Piece& piece) const {
    return {size_of(type_), piece.first, piece.count};
  }
  /// Whether compacting the piece to so many elements spares no word.
  [[nodiscard]] bool goes_raw(const Piece& piece, std::size_t elements) const {
    return words_of(elements) == words_of(piece.count);
  }

  ElementType type_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;
  Memory& memory_;
  SparseIndex& index_;
  const CallBuffers& call_;
  MemoryArray<std::byte> values_;  ///< of one piece, compacted and complete
};

std::size_t SparsePayload::encode(std::size_t, const Piece& piece, Payload out) {
  const auto* const input = call_.input_at(piece.first);
  const SparseIndex::Union positions = index_.union_of(piece);
  const std::size_t words = words_of(positions.elements);
  if (goes_raw(piece, positions.elements)) {
    copy_to_words(memory_, out.first(words), input, piece.count * size_of(type_));
    return words;
  }
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  kernels_.sparse.compact(run_of(piece), input, index_.beside_elements(positions, piece), bytes);
  // The padding of a ragged last word.
  const std::size_t used = positions.elements * size_of(type_);
  if (used != words * 8) memory_.zero(bytes + used, words * 8 - used);
  return words;
}

void SparsePayload::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  auto* const output = call_.output_at(piece.first);
  const SparseIndex::Union positions = index_.union_of(piece);
  if (sum.size() != words_of(positions.elements))
    throw Error(ErrorKind::transport, "sparse: a sum of " + std::to_string(sum.size()) +
                                          " words came for " + std::to_string(positions.elements) +
                                          " elements");
  if (goes_raw(piece, positions.elements)) {
    kernels_.finish_elements(type_, sum.data(), piece.count, divisor_, output);
    return;
  }
  kernels_.finish_elements(type_, sum.data(), positions.elements, divisor_, values_.data());
  kernels_.sparse.expand(run_of(piece), values_.data(), index_.beside_elements(positions, piece),
                         output);
}

class SparseCodec final : public Codec {
 public:
  SparseCodec(const CodecContext& context, const IndexOptions& index, std::string_view codec,
              std::function<void()> before_scan)
      : index_(context, index, codec, call_, NeededBy::encoding, std::move(before_scan)),
        payload_(context, index_, call_) {
    for (Round* const round : index_.rounds()) add(*round);
    add(payload_);
  }

  /// raw's, so that chunks are raw's too: in a ring they decide the order of additions.
  [[nodiscard]] std::size_t block() const override { return 256; }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    index_.reserve(elements, longest_piece);
    payload_.reserve(longest_piece);
  }

 private:
  void start() override { index_.start(); }

  SparseIndex index_;
  SparsePayload payload_;
};

std::optional<CodecBytes> sparse_bytes(const BytesQuery& query) {
  if (!query.shape || query.elements == 0) return std::nullopt;
  const UnionBytes of = union_bytes(query.parameters, *query.shape);
  const RunBytes run = evenly(of.index + of.values * static_cast<double>(size_of(query.type)));
  return CodecBytes{.block = 256, .contribution = run, .sum = run, .agreement = of.agreement};
}

constexpr CodecSample samples[] = {{.spec = "sparse"},
                                   {.spec = "sparse:index=flat"},
                                   {.spec = "sparse:index=bloom,false_positives=1/64"}};

}  // namespace

std::unique_ptr<Codec> make_sparse(const CodecContext& context) {
  return make_lazy_sparse(context, "sparse", {});
}

std::unique_ptr<Codec> make_lazy_sparse(const CodecContext& context, std::string_view codec,
                                        std::function<void()> before_scan) {
  return std::make_unique<SparseCodec>(context, parse_sparse_options(context.parameters, codec),
                                       codec, std::move(before_scan));
}

const CodecRow& sparse_codec() {
  static const CodecRow row{
      .info = {"sparse", "the elements that are not zero on some rank: every bit of raw's sum",
               sparse_parameters()},
      .make = make_sparse,
      .device = {.has_kernels =
                     [](const kernels::KernelTable& device) {
                       return complete(device.sparse) && complete(device.bloom);
                     }},
      .samples = samples,
      .decodes_parts = true,
      .bytes = sparse_bytes,
  };
  return row;
}

}  // namespace cohom
