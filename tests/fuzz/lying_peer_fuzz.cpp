// libFuzzer target: whole calls of any codec and algorithm over loopback, in which one rank changes
// what it sends as the input says. An input that crashes a rank, or after which all wait for ever
// and none has failed, is a finding.

#include "fuzz_input.hpp"
#include "lying_peer.hpp"
#include "require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

using namespace cohom;
using namespace cohom::test;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  // Codec, algorithm and so on are those of a seed; what the liar does, the other bytes decide.
  LyingPeerCase lying = lying_peer_case(input.number(4));
  constexpr std::size_t longest = 4096;  // elements: more of them are slow, and not of another kind
  lying.count = std::min(lying.count, longest);
  lying.percent = 1 + static_cast<int>(input.choice(100));
  lying.mode = static_cast<int>(input.choice(lies));
  lying.draw = [&input]() -> std::uint64_t {
    // A message is left as it is when the number that asks for it is high.
    return input.empty() ? 99 : input.number(2);
  };
  fuzz::require(run_lying_peer(lying).outcome != LyingPeerOutcome::stuck);
  return 0;
}
