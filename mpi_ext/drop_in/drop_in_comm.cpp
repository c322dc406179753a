#include "mpi_ext/drop_in/drop_in_comm.hpp"

#include "mpi_ext/api/mpi_options.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/drop_in/native_calls.hpp"

#include <xxhash.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace cohom::mpi {

namespace {

/// Static, as no namespace keeps a C function apart from a user's.
extern "C" {
static int forget(MPI_Comm /*comm*/, int /*keyval*/, void* attribute, void* /*extra*/) {
  const std::unique_ptr<DropInComm> known(static_cast<DropInComm*>(attribute));
  NativeCalls::change();
  return MPI_SUCCESS;
}
}  // extern "C"

/// A communicator's copies do not get it.
int keyval() {
  static const int made = [] {
    int value = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr),
          "MPI_Comm_create_keyval");
    return value;
  }();
  return made;
}

/// What cohom's keys say, in whatever order they were set; empty where there are none.
std::string text_of_keys(MPI_Info info) {
  int count = 0;
  check(MPI_Info_get_nkeys(info, &count), "MPI_Info_get_nkeys");
  std::set<std::string> lines;
  for (int i = 0; i < count; ++i) {
    char name[MPI_MAX_INFO_KEY + 1] = "";
    check(MPI_Info_get_nthkey(info, i, name), "MPI_Info_get_nthkey");
    if (std::string_view(name).starts_with("cohom_"))
      lines.insert(std::string(name) + "=" + info_value(info, name) + "\n");
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

DropInComm& drop_in_comm(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, keyval(), static_cast<void*>(&attribute), &found),
        "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<DropInComm*>(attribute);
  auto made = std::make_unique<DropInComm>();
  int inter = 0;
  check(MPI_Comm_size(comm, &made->ranks), "MPI_Comm_size");
  check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  made->inter = inter != 0;
  check(MPI_Comm_set_attr(comm, keyval(), made.get()), "MPI_Comm_set_attr");
  return *made.release();
}

void take_keys(DropInComm& known, MPI_Info info) {
  known.agreed = false;
  NativeCalls::change();
  if (info == MPI_INFO_NULL) return;
  const std::string keys = text_of_keys(info);
  if (keys.empty()) return;  // an earlier rule stays, and so does an error
  const InfoOptions read = options_of(info);
  known.own_hash = XXH3_64bits_withSeed(keys.data(), keys.size(), known.own_hash);
  known.own_error = read.error;
  if (!read.error && read.options.op != ReduceOp::sum)
    known.own_error = Error(ErrorKind::invalid_argument,
                            "the Info key cohom_op of a communicator should be left out: the "
                            "program says which operation it wants");
  if (known.own_error) known.own.reset();  // what is refused is in force at no later time
  if (known.own_error || read.options.codec.empty()) return;
  known.own = DropInRule{.text = "Info keys", .native = read.options.codec == "native"};
  known.own->options = read.options;
}

void agree_on_rules(MPI_Comm comm, DropInComm& known, std::uint64_t hash,
                    const std::optional<Error>& error) {
  hash ^= known.own_hash;
  known.error = known.own_error ? known.own_error : error;
  std::array<std::uint64_t, 3> words{known.error ? 1u : 0u, hash, ~hash};
  check(PMPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                       MPI_MAX, comm),
        "PMPI_Allreduce");
  known.agreed = true;
  if (known.error) return;
  if (words[0] != 0)
    known.error = Error(ErrorKind::invalid_argument,
                        "COHOM_DROP_IN, COHOM_ADVISE or an Info key of the communicator is wrong "
                        "on another rank");
  else if (words[1] != ~words[2])
    known.error = Error(ErrorKind::invalid_argument,
                        "COHOM_DROP_IN, COHOM_ADVISE or the Info keys of the communicator differ "
                        "between ranks; they must be the same on all of them");
}

}  // namespace cohom::mpi
