// The C API: what the library is, what it has, and what it has counted.

#include <cohom/mpix.h>

#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/api/mpi_description.hpp"
#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/api/mpix_arguments.hpp"
#include "mpi_ext/base/callable.hpp"

#include <cohom/codec.hpp>
#include <cohom/version.hpp>

#include <cstdint>
#include <string>
#include <string_view>

using namespace cohom;

namespace {

/// A counter of a communicator.
struct Counter {
  std::string_view name;
  std::uint64_t (*value)(const Communicator& communicator);
};

constexpr Counter counters[] = {
    {"bytes_sent", [](const Communicator& c) { return c.wire_counters().bytes_sent; }},
    {"messages_sent", [](const Communicator& c) { return c.wire_counters().messages_sent; }},
    {"native_calls", [](const Communicator& c) { return c.native_calls(); }},
    {"third_calls", [](const Communicator& c) { return c.third_calls(); }},
    {"bypassed_calls", [](const Communicator& c) { return c.bypassed_calls(); }},
    {"offloaded_calls", [](const Communicator& c) { return c.offload_counters().offloaded; }},
    {"offloaded_calls_repeated",
     [](const Communicator& c) { return c.offload_counters().repeated; }},
    {"offloaded_calls_declined",
     [](const Communicator& c) { return c.offload_counters().declined; }},
    {"offloaded_bytes", [](const Communicator& c) { return c.offload_counters().bytes; }}};

/// @throws Error(invalid_argument) that lists the names.
const Counter& counter_named(std::string_view name) {
  std::string names;
  for (const Counter& counter : counters) {
    if (counter.name == name) return counter;
    names.append(names.empty() ? "" : ", ").append(counter.name);
  }
  throw Error(ErrorKind::invalid_argument,
              "name '" + std::string(name) + "' is no counter; counters: " + names);
}

}  // namespace

extern "C" {

int MPIX_Compressed_get_version(int* major, int* minor, int* patch) {
  return mpi::guarded(
      [&] {
        mpi::require(major, "major");
        mpi::require(minor, "minor");
        mpi::require(patch, "patch");
        *major = version_major;
        *minor = version_minor;
        *patch = version_patch;
      },
      [] { return MPI_COMM_NULL; });
}

int MPIX_Compressed_codecs(MPI_Info* codecs) {
  return mpi::guarded(
      [&] {
        mpi::require(codecs, "codecs");
        mpi::check_callable();
        mpi::Descriptions descriptions;
        for (const CodecInfo& codec : cohom::codecs())
          descriptions.emplace_back(codec.name, codec.summary);
        *codecs = mpi::info_of(descriptions);
      },
      [] { return MPI_COMM_NULL; });
}

int MPIX_Compressed_counter(MPI_Comm comm, const char* name, MPI_Count* value) {
  return mpi::guarded(
      [&] {
        const auto home = mpi::find_communicator(comm);
        mpi::require(name, "name");
        mpi::require(value, "value");
        const Counter& counter = counter_named(name);
        *value = home ? static_cast<MPI_Count>(counter.value(home->communicator)) : 0;
      },
      [&] { return comm; });
}

int MPIX_Compressed_progress(MPI_Comm comm) {
  return mpi::guarded(
      [&] {
        if (const auto home = mpi::find_communicator(comm)) home->communicator.progress();
      },
      [&] { return comm; });
}

}  // extern "C"
