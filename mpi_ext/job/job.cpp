#include "mpi_ext/job/job.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/finalize_hook.hpp"
#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <cohom/error.hpp>
#include <cohom/mpi.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace cohom::mpi {

namespace {

/// Programs are numbered by the order in which mpirun was given them.
int program_number() {
  int* number = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&number), &found),
        "MPI_Comm_get_attr");
  return found != 0 ? *number : 0;
}

OwnedComm split(const OwnedComm& job) {
  MPI_Comm program = MPI_COMM_NULL;
  check(MPI_Comm_split(job.get(), program_number(), job.rank(), &program), "MPI_Comm_split");
  return OwnedComm::adopt(program);
}

AggregatorOffer agree_on_offer(const OwnedComm& job, const AggregatorOffer& own) {
  const std::string text = own.address.empty() ? std::string() : own.address + '\n' + own.token;
  AggregatorOffer found;
  int offers = 0;
  for (const auto& bytes : gather_bytes(job.get(), std::as_bytes(std::span(text)))) {
    const std::string other(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (other.empty()) continue;
    ++offers;
    const std::size_t end = other.find('\n');
    found = {other.substr(0, end), other.substr(end + 1)};
  }
  if (offers > 1)
    throw Error(ErrorKind::invalid_argument,
                std::to_string(offers) +
                    " processes of the job are aggregators; it should be one "
                    "(mpirun ... : -n 1 cohom-aggregator)");
  return found;
}

/// The keyval of offers. Duplicates of a communicator have its offer, too.
int keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr),
          "MPI_Comm_create_keyval");
    return made;
  }();
  return keyval;
}

/// Never destroyed: a program that exits without MPI_Finalize must not free communicators then.
std::unique_ptr<Job>& process_job() {
  static auto& job = *std::make_unique<std::unique_ptr<Job>>().release();
  return job;
}

void leave_job() {
  try {
    process_job()->leave();
    process_job().reset();
  } catch (const Error&) {  // MPI_Finalize finds out by itself
  }
}

}  // namespace

Job::Job(const AggregatorOffer& own)
    : job_(MPI_COMM_WORLD), program_(split(job_)), offer_(agree_on_offer(job_, own)) {}

void Job::leave() {
  start_leaving();
  check(MPI_Wait(&leaving_, MPI_STATUS_IGNORE), "MPI_Wait");
}

void Job::start_leaving() { check(MPI_Ibarrier(job_.get(), &leaving_), "MPI_Ibarrier"); }

bool Job::left() {
  int over = 0;
  check(MPI_Test(&leaving_, &over, MPI_STATUS_IGNORE), "MPI_Test");
  return over != 0;
}

Job& job_of_process() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& job = process_job();
  if (!job) {
    job = std::make_unique<Job>(AggregatorOffer{});
    MPI_Comm_set_errhandler(job->program(), MPI_ERRORS_ARE_FATAL);  // as MPI_COMM_WORLD's
    if (!job->offer().address.empty())
      check(MPI_Comm_set_attr(job->program(), keyval(),
                              const_cast<AggregatorOffer*>(&job->offer())),  // read only
            "MPI_Comm_set_attr");
    at_finalize(leave_job);
  }
  return *job;
}

const AggregatorOffer* offer_to(MPI_Comm comm) {
  if (!process_job()) return nullptr;
  const AggregatorOffer* offer = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, keyval(), static_cast<void*>(&offer), &found), "MPI_Comm_get_attr");
  return found != 0 ? offer : nullptr;
}

MPI_Comm program_ranks() {
  check_callable();
  return job_of_process().program();
}

}  // namespace cohom::mpi
