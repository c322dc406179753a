#pragma once
// PlanOptions: a call's options with environment and defaults filled in.

#include <cohom/element_type.hpp>
#include <cohom/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohom {

/// Which calls may go by the native allreduce.
enum class NativeUse : std::uint8_t { never, automatic, always };

constexpr std::string_view name_of(NativeUse use) noexcept {
  if (use == NativeUse::always) return "always";
  return use == NativeUse::automatic ? "auto" : "never";
}

struct PlanOptions {
  std::string codec;
  std::string algorithm;
  ReduceOp op = ReduceOp::sum;
  std::size_t segment = 0;  ///< 0: by transport
  std::string aggregator = {};
  std::string transport;  ///< empty: the communicator's, whatever it is
  bool checksum = false;
  /// Workers; none: as many as the cores of this rank make.
  std::optional<std::size_t> threads = std::nullopt;
  bool own_thread = false;  ///< advances calls
  NativeUse native = NativeUse::never;
  bool follows_file = false;  ///< calls that could race go as a file of decisions says
};

/// What the environment says where options say nothing, as text: what is wrong with it is an error
/// of the calls, which all ranks hear of. Read once a communicator, so that all its calls go by the
/// same, whatever plans they reuse.
struct OptionDefaults {
  static OptionDefaults of_environment();

  std::string codec, algorithm, segment, aggregator, checksum, timeout, threads, progress, native,
      decisions, plan_memory;
  std::optional<double> timeout_seconds;  ///< none: the text does not say
};

/// @throws Error(invalid_argument) for a COHOM_SEGMENT that is no number, a checksum that is
/// neither on nor off, or threads that are neither auto nor a number of them.
PlanOptions resolve(const Options& options, const OptionDefaults& defaults);

/// Bytes that plans of all communicators may take. @throws Error(invalid_argument)
std::size_t plan_memory_of(const OptionDefaults& defaults);

/// Seconds, with the default filled in; 0: no limit. Apart from the others: a rank whose options
/// are wrong waits for others, too. @throws Error(invalid_argument)
double timeout_of(const Options& options, const OptionDefaults& defaults);

}  // namespace cohom
