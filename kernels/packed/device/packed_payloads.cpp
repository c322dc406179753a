// Payloads of packed as a whole: opening, and what is written when all groups are.

#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/device_runtime/prefix.hpp"
#include "kernels/packed/body/packed_payload.hpp"
#include "kernels/packed/device/packed_lanes.hpp"

#include <vector>

namespace cohom::kernels::device {
namespace {

/// What a payload's first word says, if its size bears it out: only then are headers read.
struct FirstWord {
  std::uint64_t word;
  std::size_t size;  ///< words of the payload

  [[nodiscard]] COHOM_HD bool based() const { return (word & body::packed_based) != 0; }
  [[nodiscard]] COHOM_HD std::size_t followers() const { return word >> 32; }
  [[nodiscard]] COHOM_HD std::size_t heads(std::size_t groups) const {
    return groups * (packed_header + (based() ? 1 : 0));
  }
  [[nodiscard]] COHOM_HD bool fits(std::size_t groups) const {
    return size != 0 && (word & (body::packed_based - 1)) == groups &&
           size == 1 + (followers() + 1) / 2 && followers() >= heads(groups);
  }
};

struct Source {
  const std::uint64_t* words;
  std::size_t size;
};

/// Tile t is of payload t / (tiles / payloads). Behind the offsets of a payload come their sum and
/// its first word.
struct CountPlanes {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  std::size_t tiles_each;
  const Source* sources;
  std::size_t groups;
  std::uint64_t* offsets;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t s = at.tile / tiles_each;
    const std::size_t g = at.tile % tiles_each * threads + at.thread;
    const Source source = sources[s];
    const FirstWord first{source.size == 0 ? 0 : source.words[0], source.size};
    std::uint64_t* const own = offsets + s * (groups + 2);
    if (g == 0) own[groups + 1] = first.word;
    if (g >= groups) return;
    const auto* const headers = reinterpret_cast<const std::uint32_t*>(source.words + 1);
    own[g] = first.fits(groups) ? body::plane_words(headers + g * packed_header) : 0;
  }
};

struct ClosePayload {
  static constexpr unsigned threads = 32;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  NewPayload payload;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    if (at.thread != 0) return;
    const std::uint64_t planes = payload.offsets[payload.groups];
    const std::uint64_t followers =
        payload.groups * (packed_header + (payload.based ? 1 : 0)) + planes;
    if (followers % 2 != 0) payload.planes()[planes] = 0;
    payload.words[0] = body::packed_first_word(payload.groups, payload.based, followers);
  }
};

}  // namespace

NewPayload new_payload(DeviceContext& context, std::uint64_t* words, std::size_t groups,
                       bool based) {
  auto* const offsets = static_cast<std::uint64_t*>(context.scratch((groups + 1) * 8));
  return {words, groups, based, view(offsets), offsets + groups};
}

void place_planes(const NewPayload& payload) { sum_up(payload.offsets, payload.groups); }

void close_payload(const NewPayload& payload) {
  launch(ClosePayload{.tiles = 1, .payload = payload});
}

std::size_t finished_words(DeviceContext& context, const NewPayload& payload) {
  std::uint64_t planes = 0;
  context.download(&planes, payload.all, sizeof planes);
  const std::size_t followers = payload.groups * (packed_header + (payload.based ? 1 : 0)) + planes;
  return 1 + (followers + 1) / 2;
}

bool parse_payloads(DeviceContext& context, const ConstPackedPayload* payloads, std::size_t count,
                    std::size_t groups, const ParsedPayload** views, bool* based) {
  std::vector<Source> sources;
  for (std::size_t s = 0; s < count; ++s) {
    expect_aligned(payloads[s].data(), 8, "packed: a payload");
    sources.push_back({view(payloads[s].data()), payloads[s].size()});
  }
  auto* const offsets = static_cast<std::uint64_t*>(context.scratch(count * (groups + 2) * 8));
  const std::size_t tiles_each = tiles_of(groups + 1, CountPlanes::threads);
  launch(CountPlanes{.tiles = count * tiles_each,
                     .tiles_each = tiles_each,
                     .sources = static_cast<const Source*>(
                         view(context.upload(sources.data(), sources.size() * sizeof(Source)))),
                     .groups = groups,
                     .offsets = view(offsets)});
  std::vector<ParsedPayload> open;
  for (std::size_t s = 0; s < count; ++s) {
    std::uint64_t* const own = offsets + s * (groups + 2);
    sum_up(view(own), groups);
    std::uint64_t found[2];  // planes, first word
    context.download(found, own + groups, sizeof found);
    const FirstWord first{found[1], payloads[s].size()};
    if (!first.fits(groups) || found[0] != first.followers() - first.heads(groups)) return false;
    if (s == 0) *based = first.based();
    if (first.based() != *based) return false;
    const auto* const headers = reinterpret_cast<const std::uint32_t*>(sources[s].words + 1);
    const auto* const bases = headers + groups * packed_header;
    open.push_back({headers, *based ? bases : nullptr, bases + (*based ? groups : 0), view(own)});
  }
  *views = static_cast<const ParsedPayload*>(
      view(context.upload(open.data(), open.size() * sizeof(ParsedPayload))));
  return true;
}

}  // namespace cohom::kernels::device
