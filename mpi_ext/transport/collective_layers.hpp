#pragma once
// What lies below the MPI library's collectives: HCOLL and UCC let SHARP switches reduce.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::mpi {

struct CollectiveLayer {
  std::string_view name;  ///< "HCOLL", "UCC"
  bool present = false;   ///< the MPI library has a component for it
  bool enabled = false;   ///< which takes part in choosing who does a collective
  bool sharp = false;     ///< the environment tells the layer to use SHARP
};

/// As the MPI library and this rank's environment say. After MPI_Init; local. Empty where the MPI
/// library does not tell: what is asked for are parameters of Open MPI.
std::vector<CollectiveLayer> collective_layers();

/// In words, for logs: "sums in software (HCOLL absent, UCC not enabled)". Whether SHARP has a tree
/// for a communicator is something that only its own log tells.
std::string summary(std::span<const CollectiveLayer> layers);

}  // namespace cohom::mpi
