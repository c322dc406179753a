#pragma once
// The registry of transports: which ones there are, and which one a communicator gets.
//
// A library of its own brings each of them: cohom_<name> defines
//
//   const BuiltTransport& cohom::<name>::built_transport();
//
// and cmake/transports.cmake links those of a build with who joins ranks. So neither knows the
// other, and no linker drops what nobody names.

#include "topology/rank_place.hpp"

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

/// A transport that Options::transport can name, in this build or in another one.
struct TransportRow {
  std::string_view name;
  std::string_view needs;  ///< what it is built with; for messages
  std::string_view summary;
};

/// A row's place is the number that ranks tell each other. The first one is the default.
std::span<const TransportRow> transport_table();

/// A transport of this build.
struct BuiltTransport {
  std::string_view name;  ///< of a row
  /// Makes it, for this rank of a job. Collective. @throws Error on all ranks alike. Null: who
  /// joins the ranks does it in another way.
  std::shared_ptr<Transport> (*join)(int rank, int ranks, const Exchange& exchange,
                                     const JobRank& job) = nullptr;
  /// cohom::aggregator_connector() that reaches daemons as well, with a token of its own; an empty
  /// one is the environment's. Null: it knows no way to daemons.
  ConnectAggregator (*aggregator_connector)(const JobSecret& job, int rank, int ranks,
                                            const std::string& token) = nullptr;
};

/// Those that CMake linked with who joins ranks (cohom_link_transports).
std::vector<BuiltTransport> built_transports();

/// The number of the transport that `given`, as Options::transport, asks for; of `built`. Local.
/// @throws Error(invalid_argument) for an unknown name, Error(unsupported) for one that is not
/// built
std::size_t number_of_transport(std::string_view given, std::span<const BuiltTransport> built);

/// `by_rank`: the numbers of all ranks. Local. @throws Error(mismatch) when they differ
void expect_same_transport(std::span<const std::uint64_t> by_rank);

/// The one of a number that number_of_transport() gave.
const BuiltTransport& find_transport(std::size_t number, std::span<const BuiltTransport> built);

}  // namespace cohom
