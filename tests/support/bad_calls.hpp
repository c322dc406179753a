#pragma once
// Calls that must fail on all ranks alike, each with what its error has to say.

#include <cohom/communicator.hpp>
#include <cohom/error.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cohom::test {

struct BadCall {
  std::string name;
  ErrorKind kind = ErrorKind::invalid_argument;
  std::vector<std::string> words;  ///< what the error's text must hold, on every rank
  std::function<void(int rank, Communicator& communicator)> call;
};

/// Ranks that make different calls.
std::vector<BadCall> disagreements();
/// allreduce() with an argument that is wrong on the last rank.
std::vector<BadCall> wrong_arguments();
/// Plans that cannot be made, or are started wrongly, on the last rank.
std::vector<BadCall> wrong_plans();

}  // namespace cohom::test
