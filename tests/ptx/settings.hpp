#pragma once
// What the environment asks of the interpreter. All names begin with COHOM_TEST_PTX_.

#include <cstdint>
#include <string>

namespace cohom::ptx {

/// What the bits of a NaN are that an operation of f64 gives. Devices do not promise any of these,
/// so results must not depend on it. (f32 is always 0x7fffffff, as on every device.)
enum class NanMode : std::uint8_t { canonical, first_operand, second_operand };

/// When the work of a stream is done that nobody waits for.
enum class StreamOrder : std::uint8_t {
  late,          ///< when somebody waits for it
  random,        ///< at any call of the runtime, in any order that streams and events allow
  copies_first,  ///< copies at once, kernels when somebody waits
};

struct Settings {
  bool races = false;                        ///< RACES=1: accesses of threads are held to barriers
  std::uint64_t seed = 1;                    ///< SEED: of the order of threads and blocks
  std::uint64_t step_limit = 2'000'000'000;  ///< STEPS: instructions of a thread between barriers
  int processors = 3;                        ///< PROCESSORS: blocks of a launch at most
  NanMode nan = NanMode::canonical;          ///< NAN=canonical, first or second
  StreamOrder streams = StreamOrder::late;   ///< STREAMS=late, random or copies
  std::string report;                        ///< REPORT: file that each process appends to
  std::string edit;                          ///< EDIT: see edit.hpp

  /// Of the process. @throws std::runtime_error for a value that means nothing
  static const Settings& instance();
  static Settings read();
};

}  // namespace cohom::ptx
