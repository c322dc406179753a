#include "codecs/marsit/marsit_exact.hpp"

#include "kernels/core/body/element.hpp"

namespace cohom {

// direct: its owners add in rank order, so that the sum is the same whatever the payload takes.
MarsitExact::MarsitExact(const CodecContext& context, const CallBuffers& call)
    : Round({.name = "exact",
             .merge = {MergeKind::add_float, context.type},
             .time = RoundTime::behind_payload,
             .algorithm = RoundAlgorithm::direct}),
      type_(context.type),
      divisor_(context.divisor),
      host_(context.on_host()),
      memory_(context.memory),
      window_(memory_),
      compensation_(memory_),
      call_(call) {}

std::size_t MarsitExact::encode(std::size_t contributions, const Piece& piece, Payload out) {
  using namespace kernels::body;
  const std::size_t words = capacity(contributions, piece.count);
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
          compensation_.read(state + done * sizeof(Real), count * sizeof(Real));
      for (std::size_t i = 0; i < count; ++i)
        store_element<T>(out.data(), done + i,
                         Real{load_element<T>(input, i)} + load_element<Real>(left, i));
    });
    memory_.zero(state, piece.count * sizeof(Real));
  });
  return words;
}

void MarsitExact::decode(const Piece& piece, ConstPayload sum, std::size_t) {
  const auto* const from = reinterpret_cast<const std::byte*>(sum.data());
  HostWindow::for_each_run(piece.count, [&](std::size_t done, std::size_t count) {
    std::byte* const to = call_.output_at(piece.first + done);
    host_.finish_elements(type_, from + done * size_of(type_), count, divisor_,
                          window_.scratch_for(to));
    window_.write(to, count * size_of(type_));
  });
}

}  // namespace cohom
