#pragma once
// What lies between MPI_Init and MPI_Finalize in the benchmarks that run under mpirun: the command
// line, and one message for whatever keeps the program from running.

#include "command_line.hpp"
#include "shared_failure.hpp"

#include <cohom/communicator.hpp>
#include <cohom/mpi.hpp>

#include <mpi.h>

#include <functional>
#include <string>
#include <string_view>
#include <variant>

namespace cohom::bench {

/// Exit status of a program whose command line, input or combination cannot be run.
inline constexpr int cannot_run = 2;

/// Returns the program's exit status: what `work` does, or `cannot_run` after one message from rank
/// 0 for a SharedFailure or an Error, which all ranks have. Any other exception ends the job.
int run_guarded(std::string_view program, const std::function<int()>& work);

/// On rank 0.
void print(const Information& information);

/// The transport that a command line asks for; of programs without such a flag, the environment's.
template <class Options>
std::string transport_of(const Options& options) {
  if constexpr (requires { options.transport; })
    return options.transport;
  else
    return {};
}

/// The whole program: `run` gets what `parse_options` makes of the command line.
template <class Options>
int run_program(std::string_view program, int argc, const char* const* argv,
                std::variant<Options, Information> (*parse_options)(int, const char* const*),
                int (*run)(const Options&, Communicator&)) {
  return run_guarded(program, [&]() -> int {
    std::variant<Options, Information> parsed;
    run_on_all_ranks(mpi::program_ranks(), [&] { parsed = parse_options(argc, argv); });
    if (const auto* information = std::get_if<Information>(&parsed)) {
      print(*information);
      return 0;
    }
    const auto& options = std::get<Options>(parsed);
    Communicator communicator =
        mpi::communicator(mpi::program_ranks(), {.transport = transport_of(options)});
    return run(options, communicator);
  });
}

}  // namespace cohom::bench
