#pragma once
// What follows from where the buffers of a plan's calls lie.

#include "memory/placement.hpp"
#include "plan/plan_codec.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/transport.hpp>

namespace cohom {

/// Whether kernels of the device that some of the buffers lie on do the work; if not, the log says
/// why.
bool runs_on_device(const PlanCodec& codec, const Placement& placement,
                    const AlgorithmRow& algorithm);

/// Whether messages may lie on a device: the transport reaches it, and nobody wants them to go
/// through the host, to compare. @throws Error(invalid_argument) for a COHOM_DEVICE_PATH that is
/// none.
bool words_stay_on_device(const Transport& transport, bool checksum);

}  // namespace cohom
