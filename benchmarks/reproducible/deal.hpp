#pragma once
// Deal: which rank adds which vectors.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::bench {

/// For each rank the numbers of its vectors, in the order in which it adds them.
using Deal = std::vector<std::vector<std::size_t>>;

/// Rank r of n gets the vectors r v / n ... (r + 1) v / n - 1 of v.
Deal deal_in_blocks(std::size_t vectors, int ranks);

/// Each vector goes to a rank drawn at random, and each rank has its own in a random order. A rank
/// may have none.
Deal deal_at_random(std::size_t vectors, int ranks, std::uint64_t seed);

}  // namespace cohom::bench
