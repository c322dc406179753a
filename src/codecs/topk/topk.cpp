#include "codecs/topk/topk.hpp"

#include "codecs/sparse/sparse.hpp"
#include "codecs/topk/topk_options.hpp"
#include "codecs/topk/topk_selection.hpp"
#include "memory/memory.hpp"

#include <utility>

namespace cohom {
namespace {

/// sparse's rounds, on a vector of what was selected.
class TopkCodec final : public Codec {
 public:
  TopkCodec(const CodecContext& context, const TopkOptions& options)
      : type_(context.type),
        memory_(context.memory),
        feeds_back_(options.error_feedback),
        selection_(options) {
    CodecContext of_sparse = context;
    of_sparse.parameters = sparse_parameters_of_topk(context.parameters);
    sparse_ = make_lazy_sparse(of_sparse, "topk", [this] { select(); });
    for (Round* const round : sparse_->rounds()) add(*round);
  }

  [[nodiscard]] std::size_t block() const override { return sparse_->block(); }
  [[nodiscard]] bool skips(const Round& round) const override { return sparse_->skips(round); }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return feeds_back_ ? elements * feedback_size(type_) : 0;
  }
  void reserve(std::size_t elements, std::size_t longest_piece) override {
    elements_ = elements;
    selected_ = {memory_, elements * size_of(type_)};
    sparse_->reserve(elements, longest_piece);
  }

 private:
  void start() override {
    has_selected_ = false;
    CallBuffers of_sparse = call_;
    of_sparse.input = selected_.data();
    of_sparse.state = {};
    sparse_->begin(of_sparse);
  }
  /// All of the input is there: which elements are the largest is known once all are. Not in
  /// start(), when a device's elements may still be on their way.
  void select() {
    if (std::exchange(has_selected_, true)) return;
    selection_.select(type_, call_.input, elements_, call_.state, selected_.data());
  }

  ElementType type_;
  Memory& memory_;
  bool feeds_back_;
  TopkSelection selection_;
  std::unique_ptr<Codec> sparse_;
  std::size_t elements_ = 0;
  MemoryArray<std::byte> selected_;  ///< this call's vector, with zeros
  bool has_selected_ = false;
};

// The largest 1% of a normal vector's elements have 8% of its energy.
constexpr CodecSample samples[] = {
    {.spec = "topk", .clamped = 1.3, .leaves_out = true},
    {.spec = "topk:fraction=0.3,select=threshold,error_feedback=on,index=flat",
     .clamped = 0.35,
     .leaves_out = true}};

}  // namespace

std::unique_ptr<Codec> make_topk(const CodecContext& context) {
  return std::make_unique<TopkCodec>(context, parse_topk_options(context.parameters));
}

const CodecRow& topk_codec() {
  static const CodecRow row{
      .info = {"topk", "each rank's largest elements alone, with error feedback",
               topk_parameters()},
      .make = make_topk,
      .device = {.why_none = "the largest elements are found on the host"},
      .samples = samples,
      .decodes_parts = true,
  };
  return row;
}

}  // namespace cohom
