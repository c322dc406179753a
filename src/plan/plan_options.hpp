#pragma once
// PlanOptions: a call's options with environment and defaults filled in.

#include <cohom/element_type.hpp>
#include <cohom/options.hpp>

#include <cstddef>
#include <string>

namespace cohom {

/// Equal options make equal plans.
struct PlanOptions {
  std::string codec;
  std::string algorithm;
  ReduceOp op = ReduceOp::sum;
  std::size_t segment = 0;  ///< 0: by transport
  std::string aggregator = {};
  std::string transport;  ///< empty: the communicator's, whatever it is
  bool checksum = false;

  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// @throws Error(invalid_argument) for a COHOM_SEGMENT that is no number, or a checksum that is
/// neither on nor off.
PlanOptions resolve(const Options& options);

/// Seconds, with the environment filled in; 0: no limit. Apart from the others: a rank whose
/// options are wrong waits for others, too. @throws Error(invalid_argument)
double timeout_of(const Options& options);

}  // namespace cohom
