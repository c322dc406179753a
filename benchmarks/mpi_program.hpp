#pragma once
// What lies between MPI_Init and MPI_Finalize in the benchmarks that run under mpirun: the command line,
// and one message for whatever keeps the program from running.

#include "command_line.hpp"
#include "shared_failure.hpp"

#include <cohom/communicator.hpp>

#include <mpi.h>

#include <functional>
#include <string_view>
#include <variant>

namespace cohom::bench {

/// Exit status of a program whose command line, input or combination cannot be run.
inline constexpr int cannot_run = 2;

/// Returns the program's exit status: what `work` does, given this process's communicator, or
/// `cannot_run` after one message from rank 0 for a SharedFailure or an Error, which all ranks have. Any
/// other exception ends the job.
int run_with_communicator(std::string_view program, const std::function<int(Communicator&)>& work);

/// On rank 0.
void print(const Communicator& communicator, const Information& information);

/// The whole program: `run` gets what `parse_options` makes of the command line.
template <class Options>
int run_program(std::string_view program, int argc, const char* const* argv,
                std::variant<Options, Information> (*parse_options)(int, const char* const*),
                int (*run)(const Options&, Communicator&)) {
  return run_with_communicator(program, [&](Communicator& communicator) -> int {
    std::variant<Options, Information> parsed;
    run_on_all_ranks(MPI_COMM_WORLD, [&] { parsed = parse_options(argc, argv); });
    if (const auto* options = std::get_if<Options>(&parsed)) return run(*options, communicator);
    print(communicator, std::get<Information>(parsed));
    return 0;
  });
}

}  // namespace cohom::bench
