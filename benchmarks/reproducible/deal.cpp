#include "reproducible/deal.hpp"

#include "counter_random.hpp"

namespace cohom::bench {
namespace {

enum Stream : std::uint64_t { orders, owners };

}  // namespace

Deal deal_in_blocks(std::size_t vectors, int ranks) {
  const auto parts = static_cast<std::size_t>(ranks);
  Deal deal(parts);
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t v = part * vectors / parts; v < (part + 1) * vectors / parts; ++v)
      deal[part].push_back(v);
  return deal;
}

Deal deal_at_random(std::size_t vectors, int ranks, std::uint64_t seed) {
  const CounterRandom owner(seed, 0, owners);
  const auto parts = static_cast<std::size_t>(ranks);
  Deal deal(parts);
  for (const std::size_t v : CounterRandom(seed, 0, orders).permutation(vectors))
    deal[owner.bits(v) % parts].push_back(v);
  return deal;
}

}  // namespace cohom::bench
