#include "mpi_ext/api/mpi_communicator.hpp"

#include "aggregation/client/connector.hpp"
#include "base/float_mode.hpp"
#include "base/log.hpp"
#include "call/communicator_impl.hpp"
#include "call/kept_calls.hpp"
#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/finalize_hook.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/job/job.hpp"
#include "mpi_ext/transport/mpi_sums.hpp"
#include "mpi_ext/transport/native_reductions.hpp"
#include "mpi_ext/transport/transport_choice.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cohom::mpi {

namespace {

using Shared = std::shared_ptr<CachedCommunicator>;

/// All cached communicators, to free them in MPI_Finalize, which deletes only the attributes of
/// MPI_COMM_SELF. Threads may work on different communicators at once, hence the mutex. MPI is
/// never called while it is held: MPI's own lock may be held by a thread that comes from a delete
/// callback.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Shared>> entries;  ///< attributes point at the Shared
  std::once_flag once;
  int keyval = MPI_KEYVAL_INVALID;
};

/// Never destroyed: a program that exits without MPI_Finalize must not free communicators then.
Registry& registry() {
  static Registry& the_registry = *std::make_unique<Registry>().release();
  return the_registry;
}

/// The user frees the communicator, or MPI_Finalize has begun.
/// Static, as no namespace keeps a C function apart from a user's.
extern "C" {
static int forget(MPI_Comm /*comm*/, int /*keyval*/, void* attribute, void* /*extra*/) {
  std::unique_ptr<Shared> entry;
  {
    const std::lock_guard lock(registry().mutex);
    auto& entries = registry().entries;
    const auto found = std::ranges::find(entries, static_cast<Shared*>(attribute),
                                         [](const auto& candidate) { return candidate.get(); });
    if (found == entries.end()) return MPI_SUCCESS;
    entry = std::move(*found);
    entries.erase(found);
  }
  (*entry)->user = MPI_COMM_NULL;
  KeptCalls::instance().release_calls();
  return MPI_SUCCESS;
}
}  // extern "C"

/// Newest first, on all ranks alike: freeing a communicator is collective.
void forget_all() {
  std::vector<std::unique_ptr<Shared>> entries;
  {
    const std::lock_guard lock(registry().mutex);
    entries.swap(registry().entries);
  }
  for (; !entries.empty(); entries.pop_back()) {
    CachedCommunicator& cached = **entries.back();
    MPI_Comm_delete_attr(cached.user, registry().keyval);
    cached.user = MPI_COMM_NULL;
  }
  KeptCalls::instance().release_transports();
  MPI_Comm_free_keyval(&registry().keyval);
}

int keyval() {
  std::call_once(registry().once, [] {
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &registry().keyval, nullptr),
          "MPI_Comm_create_keyval");
    at_finalize(forget_all);
  });
  return registry().keyval;
}

/// Of all communicators over MPI, cached ones or not.
struct Handles {
  std::mutex mutex;
  std::vector<std::shared_ptr<ProgressHandle>> all;
  std::once_flag once;
};

/// Never destroyed, as the registry.
Handles& handles() {
  static Handles& the_handles = *std::make_unique<Handles>().release();
  return the_handles;
}

/// A rank that goes into MPI_Finalize would leave the others waiting.
void complete_all_calls() {
  std::vector<std::shared_ptr<ProgressHandle>> all;
  {
    const std::lock_guard lock(handles().mutex);
    all.swap(handles().all);
  }
  std::size_t calls = 0;
  for (const auto& handle : all) calls += handle->calls_in_flight();
  if (calls == 0) return;
  warn_once("MPI_Finalize with " + (calls == 1 ? "a call" : std::to_string(calls) + " calls") +
            " in flight: it completes them first; wait for every request before");
  for (const auto& handle : all) handle->complete_calls();
}

void complete_at_finalize(const Communicator& communicator) {
  std::call_once(handles().once, [] { at_finalize(complete_all_calls); });
  const std::lock_guard lock(handles().mutex);
  std::erase_if(handles().all, [](const auto& handle) { return handle->closed(); });
  handles().all.push_back(communicator.impl().progress_handle());
}

ConnectAggregator connector(const JobSecret& job, const Transport& transport,
                            const std::string& token) {
  const int rank = transport.rank(), ranks = transport.ranks();
  if (auto connect = daemon_connector(job, rank, ranks, token)) return *connect;
  return offload::connector(job, rank, ranks, {.token = token});
}

/// What aggregators know the communicator by, and what opens its seats there. Collective.
JobSecret agreed_job(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  JobSecret job{};  // zeros: rank 0 could not draw one, which all ranks learn
  std::string why_none = "rank 0 has no random numbers for the secret of the job";
  if (rank == 0) {
    try {
      job = random_job_secret();
    } catch (const Error& error) {
      why_none = error.what();
    }
  }
  check(MPI_Bcast(job.data(), static_cast<int>(job.size()), MPI_BYTE, 0, comm), "MPI_Bcast");
  if (job == JobSecret{}) throw Error(ErrorKind::transport, why_none);
  return job;
}

}  // namespace

Communicator communicator(MPI_Comm comm, const Options& options) {
  const DefaultFloatMode mode;
  check_usable(comm);
  const MpiUse use;
  int rank_of_job = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_job), "MPI_Comm_rank");
  set_log_rank(rank_of_job);
  auto transport = make_transport(options.transport, comm);
  const JobSecret job = agreed_job(comm);
  Aggregators aggregators{.fabric = std::make_shared<NativeReductions>(comm),
                          .connect = connector(job, *transport, {}),
                          .native = std::make_shared<MpiSums>(comm)};
  if (const AggregatorOffer* const offer = offer_to(comm); offer != nullptr)
    aggregators.attached = connector(job, *transport, offer->token)(offer->address);
  Communicator made(std::move(transport), std::move(aggregators));
  complete_at_finalize(made);
  return made;
}

Shared find_communicator(MPI_Comm comm) {
  check_usable(comm);
  Shared* cached = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, keyval(), static_cast<void*>(&cached), &found),
        "MPI_Comm_get_attr");
  return found != 0 ? *cached : nullptr;
}

Shared shared_communicator(MPI_Comm comm, const Options& options) {
  if (Shared cached = find_communicator(comm)) return cached;
  auto entry = std::make_unique<Shared>(std::make_shared<CachedCommunicator>(comm, options));
  Shared* const attribute = entry.get();
  {
    const std::lock_guard lock(registry().mutex);
    registry().entries.push_back(std::move(entry));
  }
  check(MPI_Comm_set_attr(comm, keyval(), attribute), "MPI_Comm_set_attr");
  return *attribute;
}

CallHome::CallHome(MPI_Comm comm, MPI_Info given)
    : communicator(find_communicator(comm)), info(options_of(given)) {
  if (!communicator) communicator = shared_communicator(comm, info.options);
}

Communicator& cached_communicator(MPI_Comm comm, const Options& options) {
  return shared_communicator(comm, options)->communicator;
}

}  // namespace cohom::mpi
