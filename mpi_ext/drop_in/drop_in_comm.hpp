#pragma once
// DropInComm: what the drop-in library knows of a user's communicator, kept on it.

#include "mpi_ext/drop_in/drop_in_rules.hpp"

#include <cohom/error.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace cohom::mpi {

struct DropInComm {
  int ranks = 1;
  bool inter = false;                   ///< an intercommunicator
  std::optional<DropInRule> own = {};   ///< by Info keys on the communicator
  std::uint64_t own_hash = 0;           ///< of the texts of all such keys, as they came
  std::optional<Error> own_error = {};  ///< of the last such keys
  bool agreed = false;                  ///< its ranks have compared what their calls go by
  /// What is wrong with the rules or the keys, on all ranks; calls end with it.
  std::optional<Error> error = {};
  /// Calls of a type and length so far; of advice.
  std::map<std::pair<ElementType, std::size_t>, std::uint64_t> turns = {};
};

/// Made with the first call for `comm`, and freed with it. Local. @throws Error(transport)
DropInComm& drop_in_comm(MPI_Comm comm);

/// The communicator's own rule is what these keys say from now on, if they have cohom_codec; keys
/// of others change nothing. Its ranks will compare theirs. Local.
/// @throws Error(transport) of MPI itself
void take_keys(DropInComm& known, MPI_Info info);

/// Compares what the ranks would do: it must be the same, and without errors. `hash`, `error`: of
/// what this rank's environment says. `comm` is no intercommunicator. Collective.
/// @throws Error(transport) of MPI itself
void agree_on_rules(MPI_Comm comm, DropInComm& known, std::uint64_t hash,
                    const std::optional<Error>& error);

}  // namespace cohom::mpi
