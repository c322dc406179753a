#pragma once
// PlanRoute: a route of calls, with a codec of its own, whose scratch fits its pieces.

#include "base/worker_pool.hpp"
#include "codecs/common/codec.hpp"
#include "executor/executor.hpp"
#include "plan/device_plan.hpp"
#include "plan/plan_environment.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace cohom {

struct PlanRoute {
  /// Whether calls can go this way.
  [[nodiscard]] bool exists() const { return codec != nullptr; }
  /// Does nothing the second time. @throws what Executor() does, or std::bad_alloc
  void make_executor();
  /// The executor's workspace, which the transport then knows. Does nothing the second time. Wants
  /// a DeviceWork::Use. @throws std::bad_alloc or Error, those of make_executor() among them
  void take_memory();

  std::shared_ptr<WorkerPool> workers;  ///< null: the calling thread does all work
  std::unique_ptr<Codec> codec;
  ExecutorSetup setup;                         ///< of the executor
  std::unique_ptr<Executor> executor;          ///< null before make_executor()
  std::unique_ptr<Registration> registration;  ///< of the executor's workspace
  std::size_t segment = 0;
  Aggregator* aggregator = nullptr;  ///< sums the payload; null: the ranks do
  Transport* transport = nullptr;
  DevicePlan* device = nullptr;  ///< where it does the work; else null
  bool has_memory = false;
  bool takes_any_piece = false;  ///< no piece is so long that the executor may refuse it
};

/// Of what a route is made, besides its codec. What is pointed at outlives the route.
struct RouteMaterial {
  PlanEnvironment environment;
  std::size_t count = 0;
  ElementType type = ElementType::f32;
  ReductionKind collective = ReductionKind::allreduce;  ///< ExecutorSetup's
  int root = 0;
  std::size_t segment = 0;    ///< elements; 0: by codec and transport
  bool whole_chunks = false;  ///< a chunk is one segment, whatever `segment` says
  std::size_t message_bytes = 0;
  DevicePlan* device = nullptr;                   ///< where the device does the work; else null
  std::shared_ptr<WorkerPool> workers = nullptr;  ///< for which the codec was made
};

/// Without its executor. `aggregator`: for an algorithm that needs one; or null.
/// @throws Error(unsupported) for such an algorithm without one, and for whole chunks that are too
/// long; std::bad_alloc
PlanRoute make_route(const RouteMaterial& material, std::unique_ptr<Codec> codec,
                     const AlgorithmRow& algorithm, Aggregator* aggregator);

/// How words come to the transport from where they lie; null: from the host. What a device does is
/// logged once.
std::string path_of(const DevicePlan* device, const Transport& transport);

}  // namespace cohom
