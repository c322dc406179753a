#pragma once
// SimulatedPath: how words travel between simulated workers and their aggregator.

#include "aggregation/protocol/control_message.hpp"
#include "aggregation/protocol/packet.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace cohom::test {

class SimulatedPath {
 public:
  virtual ~SimulatedPath() = default;
  virtual void send(const cohom_header& header, const std::vector<std::uint64_t>& words) = 0;
  struct Arrived {
    cohom_header header{};
    std::vector<std::uint64_t> words;
  };
  /// What has come since it was asked last.
  virtual std::vector<Arrived> take() = 0;
  /// Where a daemon finds it.
  [[nodiscard]] virtual offload::UcxAddress address() const { return {}; }
};

/// To an aggregator of this machine that has admitted a worker so. Messages go by whatever leads
/// there.
std::unique_ptr<SimulatedPath> make_simulated_path(const offload::Admitted& admitted);

}  // namespace cohom::test
