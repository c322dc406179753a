// libFuzzer target: files that cohom-bench is to read. Whatever they say, what is wrong is an
// InputError, and an array that was read has the bytes that its shape says. See scripts/fuzz.

#include "require.hpp"

#include "benchmarks/npy.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace {

using namespace cohom;
using namespace cohom::bench;
using fuzz::require;

template <class Read>
void read(Read&& reads) {
  try {
    const NpyArray array = reads();
    require(array.rows != 0 && array.columns != 0);
    require(array.bytes.size() == array.rows * array.columns * size_of(array.type));
    require(array.row(array.rows - 1).size() == array.columns);
  } catch (const InputError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read([&] { return parse_npy({reinterpret_cast<const std::byte*>(data), size}, "input"); });
  const int file = ::memfd_create("input", 0);
  require(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
  read([&] { return read_array("/proc/self/fd/" + std::to_string(file)); });
  ::close(file);
  return 0;
}
