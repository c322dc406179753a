// The C API: plans. Creating and starting one are calls that all ranks make, so an argument that is
// wrong on one rank is told to the others; the rest is local.

#include <cohom/mpix.h>

#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/api/mpi_description.hpp"
#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/api/mpix_arguments.hpp"
#include "mpi_ext/base/callable.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

using namespace cohom;

/// What MPIX_Compressed_plan points at.
struct MPIX_Compressed_plan_s {
  MPIX_Compressed_plan_s(std::shared_ptr<mpi::CachedCommunicator> communicator, Plan made,
                         const mpi::BufferRules& buffers, const mpi::CallShape& calls)
      : home(std::move(communicator)), plan(std::move(made)), rules(buffers), shape(calls) {}

  std::shared_ptr<mpi::CachedCommunicator> home;  // first: the plan needs it to its end
  Plan plan;
  mpi::BufferRules rules;
  mpi::CallShape shape;
};

namespace {

/// Takes part in what the other ranks are doing, so that they get `error`, and throws it.
[[noreturn]] void fail_on_all_ranks(const Error& error, Communicator& communicator) {
  allreduce_fail(error, communicator).wait();
  throw error;  // not reached: wait() throws it, with the rank
}

/// The argument that the caller wants something written to.
struct Destination {
  std::string_view argument;
  const void* place;
};

/// Arguments that the creations of all plans have.
struct PlanArguments {
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Op op;
  MPI_Comm comm;
  MPI_Info info;
};

/// `make` takes communicator, shape and options, and gives a plan; `rules` says what buffers of its
/// calls may be.
template <class Make, class Rules>
std::unique_ptr<MPIX_Compressed_plan_s> make_plan(const PlanArguments& given,
                                                  const Destination& destination, Make&& make,
                                                  Rules&& rules) {
  const auto& [count, datatype, op, comm, info] = given;
  const mpi::CallHome home(comm, info);
  Communicator& communicator = home.communicator->communicator;
  const auto read = mpi::read_shape(count, datatype, op, home.info);
  if (const auto* error = std::get_if<Error>(&read)) fail_on_all_ranks(*error, communicator);
  if (destination.place == nullptr)
    fail_on_all_ranks(Error(ErrorKind::invalid_argument,
                            std::string(destination.argument) + " is a null pointer"),
                      communicator);
  const auto& shape = std::get<mpi::CallShape>(read);
  return std::make_unique<MPIX_Compressed_plan_s>(
      home.communicator, make(communicator, shape, home.info.options), rules(communicator), shape);
}

AllreducePlan allreduce_plan(Communicator& communicator, const mpi::CallShape& shape,
                             const Options& options) {
  return {communicator, shape.count, shape.type, options};
}

/// Writes the handle of a new plan.
template <class Make, class Rules>
int create_plan(const PlanArguments& given, MPIX_Compressed_plan* plan, Make&& make,
                Rules&& rules) noexcept {
  return mpi::guarded(
      [&] {
        *plan = make_plan(given, {"plan", plan}, make, rules).release();
      },
      [&] { return given.comm; });
}

/// Runs `function` on the plan behind the handle.
template <class Function>
int with_plan(MPIX_Compressed_plan plan, Function&& function) noexcept {
  MPI_Comm comm = MPI_COMM_NULL;
  return mpi::guarded(
      [&] {
        mpi::require(plan, "plan");
        mpi::check_callable();
        comm = plan->home->user;
        function(*plan);
      },
      [&] { return comm; });
}

void start(MPIX_Compressed_plan_s& own, const void* sendbuf, void* recvbuf) {
  if (const auto error = mpi::check_buffers(sendbuf, recvbuf, own.rules))
    own.plan.start_with_error(*error);
  else
    own.plan.start(mpi::input_of(sendbuf, recvbuf, own.rules, own.shape),
                   own.rules.output ? recvbuf : nullptr);
}

}  // namespace

extern "C" {

int MPIX_Compressed_plan_create(MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                MPI_Info info, MPIX_Compressed_plan* plan) {
  return create_plan({count, datatype, op, comm, info}, plan, allreduce_plan,
                     mpi::rules_on_all_ranks);
}

int MPIX_Compressed_reduce_scatter_block_plan_create(MPI_Count recvcount, MPI_Datatype datatype,
                                                     MPI_Op op, MPI_Comm comm, MPI_Info info,
                                                     MPIX_Compressed_plan* plan) {
  return create_plan(
      {recvcount, datatype, op, comm, info}, plan,
      [](Communicator& communicator, const mpi::CallShape& shape, const Options& options) {
        return ReduceScatterPlan(communicator, shape.count, shape.type, options);
      },
      mpi::rules_on_all_ranks);
}

int MPIX_Compressed_reduce_plan_create(MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                                       MPI_Comm comm, MPI_Info info, MPIX_Compressed_plan* plan) {
  return create_plan(
      {count, datatype, op, comm, info}, plan,
      [root](Communicator& communicator, const mpi::CallShape& shape, const Options& options) {
        return ReducePlan(communicator, shape.count, shape.type, root, options);
      },
      mpi::rules_on_root(root));
}

int MPIX_Compressed_allgather_plan_create(MPI_Count count, MPI_Datatype datatype, MPI_Comm comm,
                                          MPI_Info info, MPIX_Compressed_plan* plan) {
  return create_plan(
      {count, datatype, MPI_SUM, comm, info}, plan,
      [](Communicator& communicator, const mpi::CallShape& shape, const Options& options) {
        return AllgatherPlan(communicator, shape.count, shape.type, options);
      },
      mpi::rules_of_parts);
}

int MPIX_Compressed_plan_start(MPIX_Compressed_plan plan, const void* sendbuf, void* recvbuf) {
  return with_plan(plan, [&](MPIX_Compressed_plan_s& own) { start(own, sendbuf, recvbuf); });
}

int MPIX_Compressed_plan_test(MPIX_Compressed_plan plan, int* flag) {
  return with_plan(plan, [&](MPIX_Compressed_plan_s& own) {
    mpi::require(flag, "flag");
    *flag = 1;  // also when it ends in an error
    *flag = own.plan.test() ? 1 : 0;
  });
}

int MPIX_Compressed_plan_wait(MPIX_Compressed_plan plan) {
  return with_plan(plan, [](MPIX_Compressed_plan_s& own) { own.plan.wait(); });
}

int MPIX_Compressed_plan_execute(MPIX_Compressed_plan plan, const void* sendbuf, void* recvbuf) {
  return with_plan(plan, [&](MPIX_Compressed_plan_s& own) {
    start(own, sendbuf, recvbuf);
    own.plan.wait();
  });
}

int MPIX_Compressed_plan_save_state(MPIX_Compressed_plan plan, void* state, MPI_Count* bytes) {
  return with_plan(plan, [&](MPIX_Compressed_plan_s& own) {
    mpi::require(bytes, "bytes");
    mpi::copy_state(own.plan.save_state(), state, bytes);
  });
}

int MPIX_Compressed_plan_restore_state(MPIX_Compressed_plan plan, const void* state,
                                       MPI_Count bytes) {
  return with_plan(plan, [&](MPIX_Compressed_plan_s& own) {
    own.plan.restore_state(mpi::saved_state(state, bytes));
  });
}

int MPIX_Compressed_plan_reset_state(MPIX_Compressed_plan plan) {
  return with_plan(plan, [](MPIX_Compressed_plan_s& own) { own.plan.reset_state(); });
}

int MPIX_Compressed_plan_describe(MPIX_Compressed_plan plan, MPI_Info* description) {
  return with_plan(plan, [&](MPIX_Compressed_plan_s& own) {
    mpi::require(description, "description");
    *description = mpi::info_of(mpi::descriptions_of(own.plan.describe()));
  });
}

int MPIX_Compressed_describe(MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                             MPI_Info info, MPI_Info* description) {
  return mpi::guarded(
      [&] {
        const auto made = make_plan({count, datatype, op, comm, info}, {"description", description},
                                    allreduce_plan, mpi::rules_on_all_ranks);
        *description = mpi::info_of(mpi::descriptions_of(made->plan.describe()));
      },
      [&] { return comm; });
}

int MPIX_Compressed_plan_free(MPIX_Compressed_plan* plan) {
  return mpi::guarded(
      [&] {
        mpi::require(plan, "plan");
        if (*plan == MPIX_COMPRESSED_PLAN_NULL) return;
        mpi::check_callable();
        std::unique_ptr<MPIX_Compressed_plan_s>(std::exchange(*plan, nullptr)).reset();
      },
      [] { return MPI_COMM_NULL; });
}

}  // extern "C"
