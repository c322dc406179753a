#include "aggregation/server/serve_job.hpp"

#include "aggregation/auth/cryptography.hpp"
#include "aggregation/server/stop_on_signal.hpp"
#include "mpi_ext/job/job.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <arpa/inet.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>

namespace cohom::offload {

namespace {

/// MPI is asked no more often: the ranks want the processors.
constexpr std::chrono::milliseconds poll_interval{20};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) throw_system_error("gethostname");
  return name.data();
}

std::string random_token() { return fmt::format("{:02x}", fmt::join(random_nonce(), "")); }

/// A server in a thread of its own.
class Served {
 public:
  Served(const ServerSetup& setup,
         const std::function<std::unique_ptr<DataPlane>(const ServerSetup&)>& make_plane)
      : plane_(make_plane(setup)),
        server_(setup, *plane_),
        port_(ntohs(server_.address().sin_port)),
        thread_([this] { run(); }) {}
  ~Served() {
    server_.stop();
    thread_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  [[nodiscard]] ControlServer& server() { return server_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  /// An exception that left the thread would end the whole job.
  void run() {
    try {
      server_.run();
    } catch (const std::exception& error) {
      fmt::print(stderr, "cohom-aggregator: it serves no longer: {}\n", error.what());
    }
  }

  std::unique_ptr<DataPlane> plane_;
  ControlServer server_;
  std::uint16_t port_;  ///< the server may be gone when it is asked for
  std::thread thread_;
};

/// The others wait in MPI for what it offers, so it offers nothing rather than to fail.
int serve(ServerSetup& setup,
          const std::function<std::unique_ptr<DataPlane>(const ServerSetup&)>& make_plane) {
  mpi::AggregatorOffer offer;
  std::optional<Served> served;
  try {
    const std::string host = host_name();
    setup.token = random_token();
    setup.listen.sin_family = AF_INET;
    setup.listen.sin_addr.s_addr = htonl(INADDR_ANY);
    served.emplace(setup, make_plane);
    offer = {host + ":" + std::to_string(served->port()), setup.token};
  } catch (const std::exception& error) {
    fmt::print(stderr, "cohom-aggregator: the job's calls do without it: {}\n", error.what());
  }
  mpi::Job job(offer);
  std::optional<StopOnSignal> stop;
  if (served) stop.emplace(served->server());
  for (job.start_leaving(); !job.left();) std::this_thread::sleep_for(poll_interval);
  return served ? 0 : 1;
}

}  // namespace

int serve_job(ServerSetup setup,
              const std::function<std::unique_ptr<DataPlane>(const ServerSetup&)>& make_plane) {
  StopOnSignal::mask(SIG_BLOCK);
  int provided = 0, processes = 0, status = 1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  try {
    if (processes == 1)
      throw Error(ErrorKind::invalid_argument,
                  "--listen HOST:PORT is missing; without it an aggregator belongs into an MPI job "
                  "(mpirun -n 4 PROGRAM : -n 1 cohom-aggregator)");
    status = serve(setup, make_plane);
  } catch (...) {
    MPI_Finalize();
    throw;
  }
  MPI_Finalize();
  return status;
}

}  // namespace cohom::offload
