// libFuzzer target: packed payloads from hostile hands. Whatever they say, nothing is read or
// written outside of the buffers (the address sanitizer watches), and every instruction set gives
// the reference's verdict and words. See scripts/fuzz.

#include "fuzz_input.hpp"
#include "require.hpp"

#include "kernels/packed/body/packed_payload.hpp"
#include "kernels/table/kernel_table.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace {

using namespace cohom;
using namespace cohom::kernels;
using Reader = fuzz::FuzzInput;
using fuzz::require;
using Payload = std::vector<std::uint64_t>;

/// A payload whose headers come from the input. Its lengths fit them, unless `flaw` says otherwise.
Payload payload_of(Reader& reader, std::size_t groups, bool based, std::uint8_t flaw) {
  std::vector<std::uint32_t> heads(groups * (packed_header + (based ? 1 : 0)));
  reader.fill(heads);
  std::size_t planes = 0;
  for (std::size_t g = 0; g < groups; ++g)
    planes += body::plane_words(heads.data() + g * packed_header);
  const std::size_t followers = heads.size() + planes;
  Payload words(1 + (followers + 1) / 2);
  auto* const start = reinterpret_cast<std::uint32_t*>(words.data() + 1);
  std::copy(heads.begin(), heads.end(), start);
  reader.fill(std::span(start + heads.size(), planes));
  words[0] = body::packed_first_word(groups, based, followers);
  switch (flaw % 8) {
    case 1: words.resize(words.size() - 1); break;
    case 2: words.push_back(0); break;
    case 3: words[0] += 1; break;
    case 4: words[0] ^= std::uint64_t{flaw} << 32; break;
    case 5: words.resize(words.size() * flaw / 256); break;
    case 6: words[0] ^= body::packed_based; break;
    default: break;
  }
  words.shrink_to_fit();  // so that a read behind the end is one
  return words;
}

void same(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
          std::size_t words) {
  require(std::equal(a.begin(), a.begin() + std::ptrdiff_t(words), b.begin()));
}

void compare_merges(const KernelTable& one, const KernelTable& other, std::size_t groups,
                    std::span<const Payload> payloads) {
  std::vector<ConstPackedPayload> sources(payloads.begin(), payloads.end());
  const std::size_t capacity = packed_capacity(groups * packed_group, true);
  Payload a(capacity), b(capacity);
  const std::size_t words = one.packed.merge(groups, sources.data(), sources.size(), a.data());
  require(other.packed.merge(groups, sources.data(), sources.size(), b.data()) == words);
  same(a, b, words);
}

void compare_shifts(const KernelTable& one, const KernelTable& other, std::size_t groups,
                    const Payload& payload, unsigned shift) {
  const std::size_t capacity = packed_capacity(groups * packed_group, true);
  Payload a(capacity), b(capacity);
  const std::size_t words = one.packed.shift(groups, payload, shift, a.data());
  require(other.packed.shift(groups, payload, shift, b.data()) == words);
  same(a, b, words);
}

void compare_decodes(const KernelTable& one, const KernelTable& other, const PackedRun& run,
                     const Payload& payload, bool in_f64) {
  std::vector<std::byte> a(run.count * size_of(run.type)), b(a.size());
  std::vector<std::uint32_t> outliers_a(packed_groups(run.count)), outliers_b(outliers_a.size());
  const bool right = one.packed.decode(run, payload, 0.25, in_f64, 3, outliers_a.data(), a.data());
  require(other.packed.decode(run, payload, 0.25, in_f64, 3, outliers_b.data(), b.data()) == right);
  require(!right || (a == b && outliers_a == outliers_b));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader(data, size);
  const std::size_t groups = 1 + reader.byte() % 3;
  const std::uint8_t flags = reader.byte();
  const std::uint8_t flaw = reader.byte();
  const bool based = (flags & 1) != 0;
  std::vector<Payload> payloads;
  for (int i = 0; i < 1 + flags / 64; ++i)
    payloads.push_back(payload_of(reader, groups, based, i == 0 ? flaw : 0));

  const std::size_t missing = (flags & 2) != 0 ? 1 + flaw * std::size_t{3} : 0;  // below 1024
  const PackedRun run{all_element_types[flags / 4 % 4], 0, groups * packed_group - missing};
  const auto isas = supported_isas();
  const std::uint8_t choice = reader.byte();
  const KernelTable& one = kernel_table(Isa::scalar);
  const std::size_t others = std::max<std::size_t>(isas.size() - 1, 1);  // scalar is the first
  const KernelTable& other = kernel_table(isas[isas.size() - 1 - choice % others]);
  switch (choice / 16 % 3) {
    case 0: compare_merges(one, other, groups, payloads); break;
    case 1: compare_shifts(one, other, groups, payloads[0], 1 + flags / 16 % 8); break;
    default: compare_decodes(one, other, run, payloads[0], (flags & 16) != 0);
  }
  return 0;
}
