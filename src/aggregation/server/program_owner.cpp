#include "aggregation/server/program_owner.hpp"

#include <cohom/error.hpp>

#include <bpf/bpf.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace cohom::offload {

namespace {

constexpr const char* mark_name = "cohom_owner";
/// The kernel empties the array a little after the process has ended.
constexpr std::chrono::milliseconds patience{500}, poll_interval{10};

[[noreturn]] void fail(int error) {
  throw Error(ErrorKind::transport, "the eBPF program cannot be marked as this process's own: " +
                                        std::string(std::strerror(-error)) +
                                        " (Linux 5.15 or later)");
}

/// Whether the map is a mark that is set; none: it is no mark.
std::optional<bool> read_mark(std::uint32_t map_id) {
  const FileDescriptor map(bpf_map_get_fd_by_id(map_id));
  bpf_map_info info{};
  std::uint32_t size = sizeof info;
  if (!map.is_open() || bpf_obj_get_info_by_fd(map.get(), &info, &size) != 0 ||
      info.type != BPF_MAP_TYPE_PROG_ARRAY || std::string_view(info.name) != mark_name)
    return std::nullopt;
  const std::uint32_t key = 0;
  std::uint32_t program = 0;
  return bpf_map_lookup_elem(map.get(), &key, &program) == 0;
}

}  // namespace

ProgramOwner::ProgramOwner(int program)
    : mark_(bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, mark_name, sizeof(std::uint32_t),
                           sizeof(std::uint32_t), 1, nullptr)) {
  if (!mark_.is_open()) fail(mark_.get());
  const std::uint32_t key = 0;
  if (const int error = bpf_map_update_elem(mark_.get(), &key, &program, BPF_ANY); error != 0)
    fail(error);
  if (const int error = bpf_prog_bind_map(program, mark_.get(), nullptr); error != 0) fail(error);
}

ProgramOwner::State ProgramOwner::state_of(std::uint32_t program_id) {
  const FileDescriptor program(bpf_prog_get_fd_by_id(program_id));
  std::array<std::uint32_t, 16> maps{};
  bpf_prog_info info{};
  info.nr_map_ids = maps.size();
  info.map_ids = reinterpret_cast<std::uintptr_t>(maps.data());
  std::uint32_t size = sizeof info;
  if (!program.is_open() || bpf_obj_get_info_by_fd(program.get(), &info, &size) != 0)
    return State::unknown;
  for (std::size_t i = 0; i < maps.size() && i < info.nr_map_ids; ++i) {
    auto set = read_mark(maps[i]);
    if (!set) continue;
    for (auto waited = poll_interval; set == true && waited < patience; waited += poll_interval) {
      std::this_thread::sleep_for(poll_interval);
      set = read_mark(maps[i]);
    }
    return set == true ? State::lives : State::ended;
  }
  return State::unknown;
}

}  // namespace cohom::offload
