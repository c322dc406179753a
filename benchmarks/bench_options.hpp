#pragma once
// The command line of cohom-bench.

#include "command_line.hpp"

#include <cohom/element_type.hpp>
#include <cohom/memory_space.hpp>
#include <cohom/options.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cohom::bench {

struct BenchOptions {
  std::vector<std::string> codecs = {"raw", "thc"};
  std::vector<std::string> algorithms = {"auto"};
  std::vector<std::size_t> sizes = {};  ///< bytes of the vector
  std::vector<std::string> inputs = {"gauss"};
  ElementType type = ElementType::f32;
  ReduceOp op = ReduceOp::sum;
  ReductionKind collective = ReductionKind::allreduce;  ///< a reduce's root is rank 0
  MemorySpace memory = MemorySpace::host;               ///< of the calls' vectors
  std::string transport = {};                           ///< empty: as COHOM_TRANSPORT says
  int iterations = 0;                                   ///< 0: as many as fit the time for a row
  int warmup = 2;
  bool native_apart = false;  ///< native calls are timed once a vector, in turns of their own
  std::uint64_t seed = 1;
  int steps = 1;
  bool in_place = false;
  bool nonblocking = false;
  std::size_t segment = 0;       ///< elements; 0: the library's choice
  double timeout = 0;            ///< seconds without progress; 0: as COHOM_TIMEOUT says
  std::string checksum = {};     ///< "on" or "off"; empty: as COHOM_CHECKSUM says
  std::string threads = {};      ///< Options::threads
  std::string native = "never";  ///< Options::native, of the timed calls
  std::string json_path = {};
  bool quiet = false;
  bool check_only = false;
  bool profile = false;
  bool rounding = false;     ///< columns of correctly rounded elements, whatever the codecs
  std::string command = {};  ///< the command line, for the report
};

/// @throws UsageError naming the flag, what was given and what would be right
std::variant<BenchOptions, Information> parse_options(int argc, const char* const* argv);

/// One size: digits, then nothing, K, M or G (powers of 1024), e.g. "64K" = 65536.
/// @throws UsageError
std::size_t parse_size(std::string_view text);

/// A comma list of sizes and of ranges a:b, which stand for a, 2a, 4a, ... up to b.
/// @throws UsageError, also for sizes that are no whole number (> 0) of elements of `type`, or more
/// elements than native MPI_Allreduce can count.
std::vector<std::size_t> parse_sizes(std::string_view text, ElementType type);

}  // namespace cohom::bench
