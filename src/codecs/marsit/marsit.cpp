#include "codecs/marsit/marsit.hpp"

#include "codecs/common/escape_round.hpp"
#include "codecs/common/lane_layout.hpp"
#include "codecs/marsit/marsit_options.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/sample/sample.hpp"
#include "kernels/sign/sign.hpp"
#include "memory/host_window.hpp"

#include <algorithm>
#include <vector>

namespace cohom {
namespace {

using kernels::sign_block;
using kernels::SignRun;

class MarsitCodec final : public Codec {
 public:
  MarsitCodec(const CodecContext& context, const MarsitOptions& options)
      : type_(context.type),
        ranks_(static_cast<std::uint32_t>(context.ranks)),
        divisor_(context.divisor),
        kernels_(context.kernels),
        host_(context.on_host()),
        memory_(context.memory),
        window_(memory_),
        left_over_(memory_),
        options_(options),
        sample_(kernels::make_sample_format(static_cast<std::uint32_t>(context.rank), ranks_)),
        scale_(context, options.scale, "marsit"),
        escape_(context),
        rounds_(scale_.rounds()) {
    // Which blocks have signs is all that their encoding asks.
    for (RoundInfo& round : std::span(rounds_).subspan(1)) round.for_decoding = true;
    payload_ = static_cast<int>(rounds_.size());
    rounds_.push_back({.name = "payload",
                       .merge = {MergeKind::bit_or},
                       .narrow = ranks_ > 1,
                       .disjoint = ranks_ > 1});
    rounds_.push_back(EscapeRound::info(type_));
    // direct: its owners add in rank order, so that the sum is the same whatever the payload takes.
    rounds_.push_back(
        {.name = "exact", .merge = {MergeKind::add_float, type_}, .algorithm = "direct"});
    contribution_words_.reserve(ranks_);
  }

  [[nodiscard]] std::size_t block() const override { return sign_block; }
  [[nodiscard]] std::span<const RoundInfo> rounds() const override {
    return std::span(rounds_).first(rounds_.size() - (options_.period == 0 ? 1 : 0));
  }
  [[nodiscard]] int payload_round() const override { return payload_; }
  [[nodiscard]] std::size_t capacity(int round, Form form, std::size_t elements) const override {
    if (round < payload_) return scale_.capacity(round, elements);
    if (round > payload_) return escape_.capacity(elements);
    return form == Form::narrow ? kernels::sampled_words(elements, ranks_)
                                : words_of_run(elements, sign_block, 1);
  }
  [[nodiscard]] std::size_t state_bytes(std::size_t elements) const override {
    return options_.compensation ? elements * feedback_size(type_) : 0;
  }

  void reserve(std::size_t elements, std::size_t longest_piece) override {
    scale_.reserve(elements, longest_piece);
    signs_ = {memory_, words_of_run(elements, sign_block, 1)};
    if (!memory_.is_host())
      cached_run_ = (longest_piece + sign_block - 1) / sign_block * sign_block;
    some_scale_.assign(cached_run_ / sign_block, 1.0);
  }
  void begin(const CallBuffers& call) override {
    using kernels::body::Stream;
    call_ = call;
    key_ = kernels::body::key(options_.seed, call.step, Stream::choice, 0);
    escape_.blocks().clear();
  }
  [[nodiscard]] bool skips(int round) const override {
    return (round == exact_round()) != options_.exact(call_.step);
  }
  std::size_t late_elements(int, const Agreed& agreed) override {
    return options_.exact(call_.step) ? 0 : scale_.find_escaped(agreed, escape_.blocks());
  }
  std::size_t encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                     Words out) override;
  std::size_t widen(int round, const Piece& piece, const Agreed& agreed,
                    std::span<const ConstWords> contributions, Words sum) override;
  void decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
              std::size_t contributions) override;

 private:
  [[nodiscard]] int exact_round() const { return payload_ + 2; }
  [[nodiscard]] SignRun run_of(const Piece& piece) const {
    return {type_, piece.first, piece.count};
  }
  [[nodiscard]] std::uint64_t* signs_at(std::size_t element) {
    return signs_.data() + element / 64;
  }
  std::size_t encode_exact(const Piece& piece, Words out);
  void decode_exact(const Piece& piece, ConstWords sum);
  void measure_and_pack(const Piece& piece);
  std::size_t encode_own(const Piece& piece, Form form, const Agreed& agreed, Words out);

  ElementType type_;
  std::uint32_t ranks_;
  std::uint64_t divisor_;
  const kernels::KernelTable& kernels_;  ///< of the elements
  const kernels::KernelTable& host_;
  Memory& memory_;
  HostWindow window_, left_over_;
  MarsitOptions options_;
  kernels::SampleFormat sample_;
  SignScale scale_;
  EscapeRound escape_;
  std::vector<RoundInfo> rounds_;
  int payload_ = 0;

  /// Elements that stay in a core's cache between measuring and packing; a device wants long runs.
  std::size_t cached_run_ = 4 * sign_block;
  MemoryArray<std::uint64_t> signs_;                      ///< of the vector
  std::vector<double> some_scale_;                        ///< of a cached run: anything above 0
  std::vector<const std::uint64_t*> contribution_words_;  ///< of one call of widen()
  CallBuffers call_;
  std::uint64_t key_ = 0;
};

/// What was left over travels with the vector, and nothing is left over.
std::size_t MarsitCodec::encode_exact(const Piece& piece, Words out) {
  using namespace kernels::body;
  const std::size_t words = escape_.capacity(piece.count);
  out[words - 1] = 0;  // the padding of a ragged last word
  std::byte* const state = call_.feedback_at(piece.first);
  if (state == nullptr) {
    memory_.to_host(out.data(), call_.input_at(piece.first), piece.count * size_of(type_));
    return words;
  }
  with_element_type(type_, [&]<class T>(T) {
    using Real = Arithmetic<T>;
    HostWindow::for_each_run(piece.count, [&](std::size_t done, std::size_t count) {
      const std::byte* const input =
          window_.read(call_.input_at(piece.first + done), count * sizeof(T));
      const std::byte* const left =
          left_over_.read(state + done * sizeof(Real), count * sizeof(Real));
      for (std::size_t i = 0; i < count; ++i)
        store_element<T>(out.data(), done + i,
                         Real{load_element<T>(input, i)} + load_element<Real>(left, i));
    });
    memory_.zero(state, piece.count * sizeof(Real));
  });
  return words;
}

void MarsitCodec::decode_exact(const Piece& piece, ConstWords sum) {
  const auto* const from = reinterpret_cast<const std::byte*>(sum.data());
  HostWindow::for_each_run(piece.count, [&](std::size_t done, std::size_t count) {
    std::byte* const to = call_.output_at(piece.first + done);
    host_.finish_elements(type_, from + done * size_of(type_), count, divisor_,
                          window_.room_for(to));
    window_.write(to, count * size_of(type_));
  });
}

std::size_t MarsitCodec::encode(int round, Form form, const Piece& piece, const Agreed& agreed,
                                Words out) {
  if (round == exact_round()) return encode_exact(piece, out);
  if (round > payload_) return escape_.encode(piece, call_.input, call_.feedback_at(0), out);
  if (round < payload_) {
    if (round == 0) measure_and_pack(piece);
    return scale_.encode(round, piece, agreed, out);
  }
  return encode_own(piece, form, agreed, out);
}

/// Signs do not depend on what the ranks agree on, but for blocks that have none: so the vector is read
/// from memory once.
void MarsitCodec::measure_and_pack(const Piece& piece) {
  for (std::size_t done = 0; done < piece.count; done += cached_run_) {
    const std::size_t first = piece.first + done;
    const SignRun run{type_, first, std::min(cached_run_, piece.count - done)};
    scale_.measure(run, call_);
    kernels_.sign.pack(run, call_.input_at(first), call_.feedback_at(first), some_scale_.data(),
                       (sample_.rank + call_.step) % 2 == 0, signs_at(first));
  }
}

std::size_t MarsitCodec::encode_own(const Piece& piece, Form form, const Agreed& agreed,
                                    Words out) {
  const SignRun run = run_of(piece);
  std::uint64_t* const signs = signs_at(piece.first);
  const std::size_t words = words_of_run(piece.count, sign_block, 1);
  scale_.clear_blocks_without_signs(piece, agreed, {signs, words});
  if (form == Form::narrow) {
    kernels_.sample.gather_own(sample_, key_, run, signs, out.data());
  } else {
    memory_.copy(out.data(), signs, words * 8);
    kernels_.sample.keep_own(sample_, key_, run, out.data());
  }
  return capacity(payload_, form, piece.count);
}

std::size_t MarsitCodec::widen(int round, const Piece& piece, const Agreed&,
                               std::span<const ConstWords> contributions, Words sum) {
  if (round > payload_) return escape_.add(piece, contributions, sum);
  contribution_words_.clear();
  for (ConstWords words : contributions) contribution_words_.push_back(words.data());
  kernels_.sample.place(sample_, key_, run_of(piece), contribution_words_.data(), sum.data());
  return capacity(round, Form::wide, piece.count);
}

void MarsitCodec::decode(int round, const Piece& piece, const Agreed& agreed, ConstWords sum,
                         std::size_t) {
  if (round == exact_round()) return decode_exact(piece, sum);
  if (round > payload_) return escape_.decode(piece, sum, call_.output);
  kernels_.sign.expand(run_of(piece), sum.data(), scale_.scales(piece, agreed).data(), ranks_,
                       divisor_, call_.feedback_at(piece.first), call_.output_at(piece.first));
}

}  // namespace

std::unique_ptr<Codec> make_marsit(const CodecContext& context) {
  return std::make_unique<MarsitCodec>(context, parse_marsit_options(context.parameters));
}

}  // namespace cohom
