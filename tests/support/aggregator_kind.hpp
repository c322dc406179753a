#pragma once
// The kinds of aggregators that can be tried in one process.

#include "aggregation/client/control_client.hpp"
#include "aggregation/server/data_plane.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace cohom::test {

struct AggregatorKind {
  std::string name;  ///< the data plane's, and what carries words
  std::function<std::unique_ptr<offload::DataPlane>(std::uint32_t slots, std::uint32_t groups)>
      plane;
  offload::MakeDataPath messages;  ///< of its clients

  friend std::ostream& operator<<(std::ostream& out, const AggregatorKind& kind) {
    return out << kind.name;
  }
};

/// Those of this build.
std::vector<AggregatorKind> aggregator_kinds();

}  // namespace cohom::test
