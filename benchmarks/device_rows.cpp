#include "device_rows.hpp"

#include "codecs/common/lane_layout.hpp"
#include "codecs/sketch/sketch_layout.hpp"
#include "kernels/packed/body/packed_quantize.hpp"

namespace cohom::bench {
namespace {

using kernels::sign_block;

/// Roughly normal values; every sixteenth is left when a vector should be sparse.
std::vector<float> values(std::size_t count, bool sparse) {
  std::vector<float> all(count);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int sum = 0;
    for (int k = 0; k < 4; ++k) sum += static_cast<int>(state >> (16 * k) & 0xffff) - 0x8000;
    all[i] = sparse && (state >> 40) % 16 != 0 ? 0 : static_cast<float>(sum) * 1e-5f;
  }
  return all;
}

/// So many elements are copied again and again: the host is slow.
constexpr std::size_t pattern = std::size_t{1} << 22;

void fill(kernels::DeviceContext& context, const DeviceMemory& memory, bool sparse) {
  const std::vector<float> some = values(std::min(pattern, memory.bytes() / 4), sparse);
  for (std::size_t done = 0; done < memory.bytes(); done += 4 * some.size())
    context.runtime().copy_to_device(memory.data() + done, some.data(),
                                     std::min(4 * some.size(), memory.bytes() - done),
                                     context.stream());
}

constexpr std::uint32_t ranks = 4;

}  // namespace

DeviceRows::DeviceRows(kernels::DeviceContext& context, std::size_t bytes)
    : context_(context),
      kernels_(*context.library().kernels),
      count_(bytes / 4),
      bytes_(static_cast<double>(bytes)),
      format_(make_thc_format({}, 0, ranks)),
      quantizer_{.step = 0.05,
                 .drops_small = true,
                 .limit = 0x1p20,
                 .dither = kernels::Dither::independent,
                 .dither_key = 7},
      scales_(count_ / sign_block, 0.5),
      runs_{.thc = {ElementType::f32, 0, count_},
            .sign = {ElementType::f32, 0, count_},
            .sparse = {4, 0, count_},
            .packed = {ElementType::f32, 0, count_}},
      vectors_{.input = {context, bytes},
               .other = {context, bytes},
               .output = {context, bytes},
               .state = {context, bytes},
               .words = {context, 8 * kernels::packed_capacity(count_, false)},
               .sum = {context, 8 * kernels::packed_capacity(count_, false)},
               .bitmap = {context, count_ / 8}},
      found_{.codes = std::vector<std::uint32_t>(count_ / format_.rotation),
             .bins = std::vector<std::uint32_t>(kernels::body::PackedBins<float>::count),
             .outliers = std::vector<std::uint32_t>(kernels::packed_groups(count_)),
             .blocks = std::vector<kernels::SignBlock>(count_ / sign_block)} {
  context_.reserve(count_);
  fill(context_, vectors_.input, false);
  fill(context_, vectors_.other, true);
  context_.synchronise();
}

std::vector<DeviceRow> DeviceRows::all() const {
  std::vector<DeviceRow> rows = {{"copy", 2 * bytes_, [this] {
                                    context_.runtime().copy_within(
                                        vectors_.output.data(), vectors_.input.data(),
                                        vectors_.input.bytes(), context_.stream());
                                  }}};
  add_merges(rows);
  add_thc(rows);
  add_signs(rows);
  add_sparse(rows);
  add_sketch(rows);
  add_packed(rows);
  return rows;
}

void DeviceRows::add_merges(std::vector<DeviceRow>& rows) const {
  const auto merge = [this](Merge kind, std::size_t bytes) {
    const void* const sources[] = {vectors_.input.data(), vectors_.other.data()};
    kernels_.merge(kind, sources, 2, bytes, vectors_.output.data());
  };
  rows.push_back({"add f32", 3 * bytes_, [=, this] {
                    merge({MergeKind::add_float, ElementType::f32}, vectors_.input.bytes());
                  }});
  rows.push_back({"or, a bit an element", 3 * bytes_ / 32,
                  [=, this] { merge({MergeKind::bit_or}, vectors_.input.bytes() / 32); }});
  rows.push_back({"add, 8 bits an element", 3 * bytes_ / 4,
                  [=, this] { merge({MergeKind::add}, vectors_.input.bytes() / 4); }});
}

void DeviceRows::add_thc(std::vector<DeviceRow>& rows) const {
  static constexpr kernels::ThcDraws draws{1, 2, 3};
  const auto measure = [this](void* feedback) {
    kernels_.thc.measure(format_, runs_.thc, vectors_.input.data(), feedback, found_.codes.data());
  };
  const auto encode = [this](void* feedback) {
    kernels_.thc.encode(format_, draws, runs_.thc, vectors_.input.data(), feedback,
                        found_.codes.data(), Form::narrow, vectors_.words.data<std::uint64_t>());
  };
  rows.push_back({"thc measure", bytes_, [=] { measure(nullptr); }});
  rows.push_back({"thc encode, 4 bits", 1.125 * bytes_, [=] { encode(nullptr); }});
  rows.push_back({"thc measure, encode", 2.125 * bytes_, [=] {
                    measure(nullptr);
                    encode(nullptr);
                  }});
  rows.push_back({"the same with error feedback", 5.125 * bytes_, [=, this] {
                    measure(vectors_.state.data());
                    encode(vectors_.state.data());
                  }});
  rows.push_back({"thc widen, 3 x 4 bits to 8", 0.625 * bytes_, [this] {
                    const std::vector<const std::uint64_t*> all(
                        3, vectors_.words.data<std::uint64_t>());
                    kernels_.thc.promote(format_, runs_.thc, all.data(), all.size(),
                                         vectors_.sum.data<std::uint64_t>());
                  }});
  rows.push_back({"thc decode", 1.25 * bytes_, [this] {
                    kernels_.thc.decode(format_, draws, runs_.thc,
                                        vectors_.sum.data<std::uint64_t>(), 3, found_.codes.data(),
                                        ranks, vectors_.output.data());
                  }});
}

void DeviceRows::add_signs(std::vector<DeviceRow>& rows) const {
  const kernels::SignCounts counts{ranks, smallest_lane_width(ranks)};
  const double lanes = 8.0 * static_cast<double>(words_of_run(count_, sign_block, counts.width));
  rows.push_back({"sign measure", bytes_, [this] {
                    kernels_.sign.measure(runs_.sign, vectors_.input.data(), nullptr, false,
                                          found_.blocks.data());
                  }});
  rows.push_back({"sign pack", 1.03125 * bytes_, [this] {
                    kernels_.sign.pack(runs_.sign, vectors_.input.data(), nullptr, scales_.data(),
                                       true, vectors_.words.data<std::uint64_t>());
                  }});
  rows.push_back({"sign count, 4 ranks", bytes_ / 8 + lanes, [=, this] {
                    const std::vector<const std::uint64_t*> all(
                        ranks, vectors_.words.data<std::uint64_t>());
                    kernels_.sign.count(counts, runs_.sign, all.data(), all.size(),
                                        vectors_.sum.data<std::uint64_t>());
                  }});
  rows.push_back({"sign expand", 1.03125 * bytes_, [this] {
                    kernels_.sign.expand(runs_.sign, vectors_.words.data<std::uint64_t>(),
                                         scales_.data(), ranks, 1, nullptr, vectors_.output.data());
                  }});
  rows.push_back({"sign expand counts", bytes_ + lanes, [=, this] {
                    kernels_.sign.expand_counts(counts, runs_.sign,
                                                vectors_.sum.data<std::uint64_t>(), scales_.data(),
                                                1, vectors_.output.data());
                  }});
}

void DeviceRows::add_sparse(std::vector<DeviceRow>& rows) const {
  auto* const bitmap = vectors_.bitmap.data<std::uint64_t>();
  rows.push_back({"sparse scan", 1.03125 * bytes_, [=, this] {
                    kernels_.sparse.scan(runs_.sparse, vectors_.other.data(), bitmap);
                  }});
  // The bitmap is read twice: to find where elements go, and which.
  rows.push_back({"sparse compact, 1/16", (1 + 1. / 16 + 2. / 32) * bytes_, [=, this] {
                    kernels_.sparse.compact(runs_.sparse, vectors_.other.data(), bitmap,
                                            vectors_.sum.data());
                  }});
  rows.push_back({"sparse expand, 1/16", (1 + 1. / 16 + 2. / 32) * bytes_, [=, this] {
                    kernels_.sparse.expand(runs_.sparse, vectors_.sum.data(), bitmap,
                                           vectors_.output.data());
                  }});
}

/// The elements that are not zero, 1.3 cells each: in sketches of 8192 and more items, as the codec
/// cuts them.
void DeviceRows::add_sketch(std::vector<DeviceRow>& rows) const {
  auto* const bitmap = vectors_.bitmap.data<std::uint64_t>();
  kernels_.sparse.scan(runs_.sparse, vectors_.other.data(), bitmap);
  const std::size_t items = kernels_.sparse.count_bits(bitmap, kernels::bitmap_words(count_));
  sketches_.compacted = DeviceMemory(context_, 4 * items);
  kernels_.sparse.compact(runs_.sparse, vectors_.other.data(), bitmap, sketches_.compacted.data());
  const SketchLayout layout(1.3, 0);
  std::size_t cells = 0;
  sketches_.parts.clear();
  layout.for_each_instance({.count = count_}, {.elements = items}, [&](const auto& instance) {
    sketches_.parts.push_back({.first = instance.first,
                               .items = instance.items,
                               .first_cell = cells,
                               .plain = instance.plain,
                               .shape = instance.shape});
    cells += instance.cells();
  });
  sketches_.scratch = DeviceMemory(context_, kernels::sketch_scratch_bytes(items, cells));
  const kernels::SketchRun run{.format = {ElementType::f32, {0, ranks}},
                               .parts = sketches_.parts,
                               .scratch = sketches_.scratch.data()};
  const double of_cells = 8.0 * static_cast<double>(cells);
  const double of_items = 4.0 * static_cast<double>(items);
  auto* const words = vectors_.words.data<std::uint64_t>();
  rows.push_back({"sketch insert, 1/16", of_items + of_cells,
                  [=, this] { kernels_.sketch.insert(run, sketches_.compacted.data(), words); }});
  rows.push_back({"sketch peel, 1/16", of_cells + 1.25 * of_items, [=, this] {
                    kernels_.sketch.peel(run, words,
                                         reinterpret_cast<std::uint8_t*>(vectors_.sum.data()),
                                         vectors_.output.data());
                  }});
}

void DeviceRows::add_packed(std::vector<DeviceRow>& rows) const {
  const std::size_t groups = kernels::packed_groups(count_);
  auto* const words = vectors_.words.data<std::uint64_t>();
  auto* const sum = vectors_.sum.data<std::uint64_t>();
  rows.push_back({"packed measure", bytes_, [this] {
                    kernels_.packed.measure(runs_.packed, vectors_.input.data(), nullptr,
                                            found_.bins.data());
                  }});
  const auto encode = [=, this] {
    return kernels_.packed.encode(quantizer_, runs_.packed, vectors_.input.data(), nullptr, words);
  };
  found_.packed_words = encode();
  const double payload = 8.0 * static_cast<double>(found_.packed_words);
  // Planes lie behind those of all groups before, so the vector is read twice. The rows below have
  // the words that this one has written.
  rows.push_back({"packed encode", 2 * bytes_ + payload, [=] { encode(); }});
  rows.push_back({"packed decode", bytes_ + payload, [=, this] {
                    kernels_.packed.decode(runs_.packed, {words, found_.packed_words},
                                           quantizer_.step, false, 1, found_.outliers.data(),
                                           vectors_.output.data());
                  }});
  rows.push_back({"packed merge, 2 payloads", 5 * payload, [=, this] {
                    const kernels::ConstPackedPayload both[] = {{words, found_.packed_words},
                                                                {words, found_.packed_words}};
                    kernels_.packed.merge(groups, both, 2, sum);
                  }});
}

}  // namespace cohom::bench
