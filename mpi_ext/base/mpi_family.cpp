#include "mpi_ext/base/mpi_family.hpp"

#include "base/log.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace cohom::mpi {

namespace {

#ifdef OMPI_MAJOR_VERSION
constexpr std::string_view family = "Open MPI";
constexpr std::string_view name_in_files = "openmpi";
/// What libraries of other families call themselves.
constexpr std::string_view others[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
constexpr std::string_view family = "MPICH";
constexpr std::string_view name_in_files = "mpich";
constexpr std::string_view others[] = {"Open MPI", "Spectrum MPI"};
#else
constexpr std::string_view family = "another MPI";
constexpr std::string_view name_in_files = "mpi";
constexpr std::string_view others[] = {"Open MPI", "Spectrum MPI", "MPICH", "Intel(R) MPI"};
#endif

/// Launchers end all processes with the first one, and lose what these were about to say.
constexpr std::chrono::seconds time_to_speak(1);

/// Its first line.
std::string running_mpi() {
  std::array<char, 16384> text{};  // MPICH's may be longer than Open MPI's header says
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data());
  return all.substr(0, all.find_first_of("\n,"));
}

std::string find_why_other_mpi() {
  const std::string running = running_mpi();
  const bool other = std::ranges::any_of(
      others, [&](std::string_view name) { return running.find(name) != std::string::npos; });
  if (!other) return {};
  return "this library of cohom was built for " + std::string(family) + " (libcohom_mpi_" +
         std::string(name_in_files) + "), but the program runs with " + running +
         "; build cohom with that MPI's compiler wrapper";
}

}  // namespace

std::string_view mpi_family() { return family; }

const std::string& why_other_mpi() {
  static const std::string why = find_why_other_mpi();
  return why;
}

void expect_own_mpi() {
  if (why_other_mpi().empty()) return;
  if (speaks_for_all(0))
    std::fprintf(stderr, "cohom: %s\n", why_other_mpi().c_str());
  else
    std::this_thread::sleep_for(time_to_speak);
  std::_Exit(1);
}

}  // namespace cohom::mpi
