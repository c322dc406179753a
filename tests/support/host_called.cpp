#include "host_called.hpp"

#include "host_called_blocks.hpp"
#include "host_called_sketch.hpp"
#include "kernels/core/body/lanes.hpp"
#include "kernels/sign/body/sign.hpp"
#include "staged_arrays.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace cohom::test {
namespace {

using namespace kernels;
using Word = std::uint64_t;

constexpr std::size_t feedback_bytes(ElementType type) { return type == ElementType::f64 ? 8 : 4; }

/// Words of a run's blocks, the last of which may be ragged.
std::size_t words_of_blocks(std::size_t count, std::size_t block, unsigned width) {
  const std::size_t rest = count % block;
  return count / block * body::words_per_block(block, width) +
         (rest == 0 ? 0 : body::words_per_block(body::padded_signs(rest), width));
}

/// The rows, for a library that is known when they are called. `number` tells devices apart.
template <int number>
struct HostCalled {
  static inline const DeviceLibrary* library = nullptr;

  static const kernels::KernelTable& device() { return *library->kernels; }

  static void merge(Merge merge, const void* const* sources, std::size_t source_count,
                    std::size_t bytes, void* destination) {
    StagedCall call(*library);
    std::vector<const void*> staged;
    for (std::size_t s = 0; s < source_count; ++s) staged.push_back(call.in(sources[s], bytes));
    device().merge(merge, staged.data(), source_count, bytes, call.in(destination, bytes));
    call.out(destination, bytes);
  }
  static void finish_elements(ElementType type, const void* source, std::size_t elements,
                              std::uint64_t divisor, void* destination) {
    StagedCall call(*library);
    const std::size_t bytes = elements * size_of(type);
    device().finish_elements(type, call.in(source, bytes), elements, divisor,
                             call.in(destination, bytes));
    call.out(destination, bytes);
  }

  static void widen(const kernels::LaneBlocks& run, const kernels::LaneSource* sources,
                    std::size_t source_count, unsigned width, Word* sum) {
    StagedCall call(*library);
    std::vector<kernels::LaneSource> staged;
    for (std::size_t s = 0; s < source_count; ++s)
      staged.push_back(
          {call.in(sources[s].words, 8 * run.words(sources[s].width)), sources[s].width});
    const std::size_t bytes = 8 * run.words(width);
    device().widen(run, staged.data(), source_count, width, call.in(sum, bytes));
    call.out(sum, bytes);
  }

  // ---- thc

  static std::size_t narrow(const ThcFormat& format, const ThcRun& run) {
    return 8 * words_of_blocks(run.count, format.rotation, format.narrow_width);
  }
  static std::size_t wide(const ThcFormat& format, const ThcRun& run) {
    return 8 * words_of_blocks(run.count, format.rotation, format.wide_width);
  }
  static void measure_thc(const ThcFormat& format, const ThcRun& run, const void* input,
                          void* feedback, std::uint32_t* codes) {
    StagedCall call(*library);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    device().thc.measure(format, run, call.in(input, run.count * size_of(run.type)),
                         call.in(feedback, kept, feedback_bytes(run.type)), codes);
    call.out(feedback, kept);
  }
  static void encode_thc(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                         const void* input, void* feedback, const std::uint32_t* codes, Form form,
                         Word* words) {
    StagedCall call(*library);
    const std::size_t bytes = form == Form::narrow ? narrow(format, run) : wide(format, run);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    std::vector<std::uint32_t> changing(
        codes, codes + (run.count + format.rotation - 1) / format.rotation);
    device().thc.encode(format, draws, run, call.in(input, run.count * size_of(run.type)),
                        call.in(feedback, kept, feedback_bytes(run.type)), changing.data(), form,
                        call.in(words, bytes));
    std::ranges::fill(changing, 1u);  // the call has what it needs
    call.out(words, bytes);
    call.out(feedback, kept);
  }
  static void promote_thc(const ThcFormat& format, const ThcRun& run,
                          const Word* const* contributions, std::size_t contribution_count,
                          Word* sum) {
    StagedCall call(*library);
    std::vector<const Word*> staged;
    for (std::size_t c = 0; c < contribution_count; ++c)
      staged.push_back(call.in(contributions[c], narrow(format, run)));
    device().thc.promote(format, run, staged.data(), contribution_count,
                         call.in(sum, wide(format, run)));
    call.out(sum, wide(format, run));
  }
  static void decode_thc(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                         const Word* sum, std::size_t contributions, const std::uint32_t* codes,
                         std::uint64_t divisor, void* output) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * size_of(run.type);
    device().thc.decode(format, draws, run, call.in(sum, wide(format, run)), contributions, codes,
                        divisor, call.in(output, bytes));
    call.out(output, bytes);
  }

  // ---- packed

  static void measure_packed(const PackedRun& run, const void* input, void* feedback,
                             std::uint32_t* bins) {
    StagedCall call(*library);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    device().packed.measure(run, call.in(input, run.count * size_of(run.type)),
                            call.in(feedback, kept, feedback_bytes(run.type)), bins);
    call.out(feedback, kept);
  }
  static std::size_t encode_packed(const PackedQuantizer& quantizer, const PackedRun& run,
                                   const void* input, void* feedback, Word* words) {
    StagedCall call(*library);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    const std::size_t capacity = 8 * packed_capacity(run.count, quantizer.differences);
    const std::size_t written = device().packed.encode(
        quantizer, run, call.in(input, run.count * size_of(run.type)),
        call.in(feedback, kept, feedback_bytes(run.type)), call.in(words, capacity));
    call.out(words, 8 * written);
    call.out(feedback, kept);
    return written;
  }
  static ConstPackedPayload staged(StagedCall& call, ConstPackedPayload words) {
    return {call.in(words.data(), words.size_bytes()), words.size()};
  }
  static std::size_t merge_packed(std::size_t groups, const ConstPackedPayload* payloads,
                                  std::size_t count, Word* sum) {
    StagedCall call(*library);
    std::vector<ConstPackedPayload> sources;
    bool based = false;
    for (std::size_t s = 0; s < count; ++s) {
      sources.push_back(staged(call, payloads[s]));
      based |= !payloads[s].empty() && (payloads[s][0] >> 31 & 1) != 0;
    }
    const std::size_t capacity = 8 * packed_capacity(groups * packed_group, based);
    std::vector<Word> scratch(capacity / 8);  // what the caller has may be less, where nothing fits
    const std::size_t written =
        device().packed.merge(groups, sources.data(), count, call.in(scratch.data(), capacity));
    call.out(scratch.data(), capacity);
    std::copy_n(scratch.begin(), written, sum);
    return written;
  }
  static std::size_t shift_packed(std::size_t groups, ConstPackedPayload payload, unsigned shift,
                                  Word* words) {
    StagedCall call(*library);
    const ConstPackedPayload source = staged(call, payload);
    const std::size_t written =
        device().packed.shift(groups, source, shift, call.in(words, payload.size_bytes()));
    call.out(words, 8 * written);
    return written;
  }
  static bool decode_packed(const PackedRun& run, ConstPackedPayload payload, double step,
                            bool in_f64, std::uint64_t divisor, std::uint32_t* outliers,
                            void* output) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * size_of(run.type);
    const bool fits = device().packed.decode(run, staged(call, payload), step, in_f64, divisor,
                                             outliers, call.in(output, bytes));
    call.out(output, bytes);
    return fits;
  }

  // ---- sparse

  static void scan(const SparseRun& run, const void* elements, Word* bitmap) {
    StagedCall call(*library);
    const std::size_t bytes = 8 * bitmap_words(run.count);
    device().sparse.scan(run, call.in(elements, run.count * run.element_bytes),
                         call.in(bitmap, bytes));
    call.out(bitmap, bytes);
  }
  static std::size_t count_bits(const Word* words, std::size_t count) {
    StagedCall call(*library);
    return device().sparse.count_bits(call.in(words, 8 * count), count);
  }
  static std::size_t selected_bytes(const SparseRun& run, const Word* bitmap) {
    std::size_t bits = 0;
    for (std::size_t w = 0; w < bitmap_words(run.count); ++w)
      bits += std::size_t(std::popcount(bitmap[w]));
    return bits * run.element_bytes;
  }
  static void compact(const SparseRun& run, const void* elements, const Word* bitmap,
                      void* compacted) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * run.element_bytes;
    device().sparse.compact(run, call.in(elements, bytes),
                            call.in(bitmap, 8 * bitmap_words(run.count)),
                            call.in(compacted, bytes));
    call.out(compacted, bytes);
  }
  static void expand_sparse(const SparseRun& run, const void* compacted, const Word* bitmap,
                            void* elements) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * run.element_bytes;
    device().sparse.expand(run, call.in(compacted, selected_bytes(run, bitmap)),
                           call.in(bitmap, 8 * bitmap_words(run.count)), call.in(elements, bytes));
    call.out(elements, bytes);
  }

  // ---- sign

  static std::size_t sign_words(const SignRun& run, unsigned width) {
    return 8 * words_of_blocks(run.count, sign_block, width);
  }
  static void measure_signs(const SignRun& run, const void* input, void* state, bool of_input,
                            SignBlock* blocks) {
    StagedCall call(*library);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    device().sign.measure(run, call.in(input, run.count * size_of(run.type)),
                          call.in(state, kept, feedback_bytes(run.type)), of_input, blocks);
    call.out(state, kept);
  }
  static void pack(const SignRun& run, const void* input, const void* state, const double* scales,
                   bool zeros_are_plus, Word* bits) {
    StagedCall call(*library);
    device().sign.pack(run, call.in(input, run.count * size_of(run.type)),
                       call.in(state, run.count * feedback_bytes(run.type)), scales, zeros_are_plus,
                       call.in(bits, sign_words(run, 1)));
    call.out(bits, sign_words(run, 1));
  }
  static void pack_feedback(const SignRun& run, void* state, const double* scales,
                            bool zeros_are_plus, Word* bits) {
    StagedCall call(*library);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    device().sign.pack_feedback(run, call.in(state, kept, feedback_bytes(run.type)), scales,
                                zeros_are_plus, call.in(bits, sign_words(run, 1)));
    call.out(bits, sign_words(run, 1));
    call.out(state, kept);
  }
  static void count(const SignCounts& counts, const SignRun& run, const Word* const* contributions,
                    std::size_t contribution_count, Word* sum) {
    StagedCall call(*library);
    std::vector<const Word*> staged;
    for (std::size_t c = 0; c < contribution_count; ++c)
      staged.push_back(call.in(contributions[c], sign_words(run, 1)));
    const std::size_t bytes = sign_words(run, counts.width);
    device().sign.count(counts, run, staged.data(), contribution_count, call.in(sum, bytes));
    call.out(sum, bytes);
  }
  static void majority(const SignCounts& counts, const SignRun& run, const Word* sum, bool odd,
                       Word* bits) {
    StagedCall call(*library);
    const Word* const from = call.in(sum, sign_words(run, counts.width));
    device().sign.majority(counts, run, from, odd, call.in(bits, sign_words(run, 1)));
    call.out(bits, sign_words(run, 1));
  }
  static void expand_signs(const SignRun& run, const Word* bits, const double* scales,
                           std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * size_of(run.type);
    const std::size_t kept = run.count * feedback_bytes(run.type);
    device().sign.expand(run, call.in(bits, sign_words(run, 1)), scales, ranks, divisor,
                         call.in(state, kept, feedback_bytes(run.type)), call.in(output, bytes));
    call.out(output, bytes);
    call.out(state, kept);
  }
  static void expand_counts(const SignCounts& counts, const SignRun& run, const Word* sum,
                            const double* scales, std::uint64_t divisor, void* output) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * size_of(run.type);
    device().sign.expand_counts(counts, run, call.in(sum, sign_words(run, counts.width)), scales,
                                divisor, call.in(output, bytes));
    call.out(output, bytes);
  }

  // ---- sample

  static void keep_own(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                       Word* bits) {
    StagedCall call(*library);
    device().sample.keep_own(format, key, run, call.in(bits, sign_words(run, 1)));
    call.out(bits, sign_words(run, 1));
  }
  static void gather_own(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                         const Word* bits, Word* own) {
    StagedCall call(*library);
    const std::size_t bytes = 8 * sampled_words(run.count, format.ranks);
    device().sample.gather_own(format, key, run, call.in(bits, sign_words(run, 1)),
                               call.in(own, bytes));
    call.out(own, bytes);
  }
  static void place(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                    const Word* const* contributions, Word* bits) {
    StagedCall call(*library);
    std::vector<const Word*> staged;
    for (std::uint32_t r = 0; r < format.ranks; ++r)
      staged.push_back(call.in(contributions[r], 8 * sampled_words(run.count, format.ranks)));
    device().sample.place(format, key, run, staged.data(), call.in(bits, sign_words(run, 1)));
    call.out(bits, sign_words(run, 1));
  }

  // ---- bloom

  static void insert(const BloomShape& shape, std::size_t first, const Word* bitmap,
                     std::size_t count, Word* filter) {
    StagedCall call(*library);
    device().bloom.insert(shape, first, call.in(bitmap, 8 * bitmap_words(count)), count,
                          call.in(filter, shape.bits / 8));
    call.out(filter, shape.bits / 8);
  }
  static void find(const BloomShape& shape, const Word* filter, std::size_t first,
                   std::size_t count, Word* bitmap) {
    StagedCall call(*library);
    device().bloom.find(shape, call.in(filter, shape.bits / 8), first, count,
                        call.in(bitmap, 8 * bitmap_words(count)));
    call.out(bitmap, 8 * bitmap_words(count));
  }

  // ---- exact, whose headers are the host's

  static void measure_exact(const ExactRun& run, const void* input, Word* header) {
    StagedCall call(*library);
    const std::size_t unit = size_of(run.type);
    device().exact.measure(run, call.in(input, run.count * unit, unit), header);
  }
  static void encode_exact(const ExactRun& run, const ExactRoom& room, const Word* header,
                           const void* input, Word* words) {
    StagedCall call(*library);
    const std::size_t unit = size_of(run.type), bytes = 8 * exact_length(run, room, header).words;
    std::vector<Word> changing(header, header + exact_header_words(run.type, run.count));
    device().exact.encode(run, room, changing.data(), call.in(input, run.count * unit, unit),
                          call.in(words, bytes, 8));
    std::ranges::fill(changing, Word{0});  // the call has what it needs
    call.out(words, bytes);
  }
  static void sum_exact(const ExactRun& run, const ExactRoom& room, const Word* header,
                        const Word* const* sources, std::size_t source_count, std::uint64_t divisor,
                        void* output) {
    StagedCall call(*library);
    const std::size_t unit = size_of(run.type), bytes = 8 * exact_length(run, room, header).words;
    std::vector<const Word*> staged;
    for (std::size_t s = 0; s < source_count; ++s) staged.push_back(call.in(sources[s], bytes, 8));
    device().exact.sum(run, room, header, staged.data(), source_count, divisor,
                       call.in(output, run.count * unit, unit));
    call.out(output, run.count * unit);
  }
  static void decode_exact(const ExactRun& run, const ExactRoom& room, const Word* header,
                           const Word* words, std::uint64_t divisor, void* output) {
    StagedCall call(*library);
    const std::size_t unit = size_of(run.type), bytes = 8 * exact_length(run, room, header).words;
    device().exact.decode(run, room, header, call.in(words, bytes, 8), divisor,
                          call.in(output, run.count * unit, unit));
    call.out(output, run.count * unit);
  }

  static const KernelTable& table(const DeviceLibrary& from) {
    library = &from;
    static const KernelTable table{
        Isa::device,
        merge,
        finish_elements,
        widen,
        {measure_thc, encode_thc, promote_thc, decode_thc},
        {measure_packed, encode_packed, merge_packed, shift_packed, decode_packed},
        {measure_exact, encode_exact, sum_exact, decode_exact},
        {scan, count_bits, compact, expand_sparse},
        {measure_signs, pack, pack_feedback, count, majority, expand_signs, expand_counts},
        {keep_own, gather_own, place},
        {insert, find},
        kernel_table().placing,  // devices have none
        HostCalledSketch<number>::row(from),
        HostCalledBlocks<number>::rows(from)};
    return table;
  }
};

}  // namespace

const KernelTable& host_called_emulated(const DeviceLibrary& library) {
  return HostCalled<0>::table(library);
}
const KernelTable& host_called_cuda(const DeviceLibrary& library) {
  return HostCalled<1>::table(library);
}

}  // namespace cohom::test
