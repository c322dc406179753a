// What the library says to threads that MPI does not allow. Argument: the level to ask MPI for,
// "funneled" or "serialized". Exits with 0 when the errors are the right ones, with 77 when MPI
// gives another level.

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/transport/mpi_transport.hpp"
#include "mpi_ext/transport/native_reductions.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

namespace {

void call(cohom::Communicator& communicator) {
  float one = 1;
  cohom::allreduce(&one, &one, 1, cohom::ElementType::f32, communicator,
                   {.codec = "raw", .algorithm = "ring"});
}

template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const cohom::Error& error) {
    return error.what();
  }
  return {};
}

/// The same of another thread.
template <class Action>
std::string error_elsewhere(Action&& action) {
  std::string text;
  std::thread([&] { text = error_of(action); }).join();
  return text;
}

std::string error_of_call(cohom::Communicator& communicator) {
  return error_of([&] { call(communicator); });
}

bool has(const std::string& text, const char* words) {
  if (text.find(words) != std::string::npos) return true;
  std::fprintf(stderr, "no \"%s\" in \"%s\"\n", words, text.c_str());
  return false;
}

constexpr const char* funneled_words = "only the thread that initialized it may call";

/// Another thread than the one that initialized MPI.
bool funneled() {
  auto communicator = cohom::mpi::communicator(MPI_COMM_WORLD);
  // On one rank: the others wait for its next call.
  const std::string of_call =
      communicator.rank() == 0 ? error_elsewhere([&] { call(communicator); }) : funneled_words;
  const std::string of_communicator =
      error_elsewhere([] { cohom::mpi::communicator(MPI_COMM_WORLD); });
  const bool here = error_of_call(communicator).empty();
  return has(of_call, funneled_words) && has(of_communicator, "MPI_THREAD_FUNNELED") && here;
}

/// Two threads, one at a time, are allowed.
bool serialized() {
  auto first = cohom::mpi::communicator(MPI_COMM_WORLD);
  auto second = cohom::mpi::communicator(MPI_COMM_SELF);
  const std::string error = error_elsewhere([&] { call(first); });
  if (!error.empty()) std::fprintf(stderr, "one at a time: %s\n", error.c_str());
  return error.empty() && error_of_call(second).empty();
}

constexpr const char* at_once_words = "two threads call at once";

/// One thread is in MPI on every rank while another one calls.
bool at_once() {
  auto communicator = cohom::mpi::communicator(MPI_COMM_WORLD);
  std::string error;
  {
    const cohom::mpi::MpiUse in_mpi;
    error = error_elsewhere([&] { call(communicator); });
  }
  auto another = cohom::mpi::communicator(MPI_COMM_WORLD);
  return has(error, at_once_words) && has(error, "MPI gives MPI_THREAD_SERIALIZED") &&
         error_of_call(another).empty();
}

/// A message's ways into MPI, one by one.
bool messages_at_once() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cohom::mpi::MpiTransport transport(MPI_COMM_WORLD);
  const auto channel = transport.open(0);
  std::array<std::byte, 8> bytes{};
  std::array<cohom::Completion, 1> out;
  const cohom::mpi::MpiUse in_mpi;
  const std::string of_send = error_elsewhere([&] { channel->send(bytes, rank, 0, 0); });
  const std::string of_receive = error_elsewhere([&] { channel->receive(bytes, rank, 0, 1); });
  const std::string of_poll = error_elsewhere([&] { channel->poll(out); });
  return has(of_send, at_once_words) && has(of_receive, at_once_words) &&
         has(of_poll, at_once_words);
}

/// A reduction of MPI's is one more way into MPI, and so is making a communicator.
bool fabric_at_once() {
  cohom::mpi::NativeReductions native(MPI_COMM_WORLD);
  native.start_preparing();
  while (!native.prepare()) {
  }
  std::uint64_t refused = 1, word = 1;
  const auto add = [&](cohom::Reduction& reduction, std::uint64_t& sum) {
    reduction.start({&sum, 1}, {&sum, 1}, {.kind = cohom::MergeKind::add}, 0);
  };
  std::array<cohom::Completion, 1> out;
  const auto early = native.open(0, 0, 1);
  const auto started = native.open(1, 0, 1);
  std::string of_start, of_poll, of_communicator;
  {
    const cohom::mpi::MpiUse in_mpi;
    of_start = error_elsewhere([&] { add(*early, refused); });
    of_communicator = error_elsewhere([] { cohom::mpi::communicator(MPI_COMM_WORLD); });
  }
  add(*started, word);
  {
    const cohom::mpi::MpiUse in_mpi;
    of_poll = error_elsewhere([&] { started->poll(out); });
  }
  while (started->poll(out) == 0) std::this_thread::yield();
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return has(of_start, at_once_words) && has(of_communicator, at_once_words) &&
         has(of_poll, at_once_words) && refused == 1 && word == static_cast<std::uint64_t>(ranks);
}

}  // namespace

int main(int argc, char** argv) {
  const bool funnel = argc > 1 && std::string(argv[1]) == "funneled";
  const int wanted = funnel ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  int status = 77;
  if (provided != wanted)
    std::printf("MPI gives another level (%d); nothing to see\n", provided);
  else
    status =
        (funnel ? funneled() : serialized() && at_once() && messages_at_once() && fabric_at_once())
            ? 0
            : 1;
  MPI_Finalize();
  return status;
}
