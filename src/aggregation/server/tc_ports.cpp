#include "aggregation/server/tc_ports.hpp"

#include "base/log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace cohom::offload {

namespace {

bpf_tc_hook ingress_of(int device) {
  bpf_tc_hook hook{};
  hook.sz = sizeof hook;
  hook.ifindex = device;
  hook.attach_point = BPF_TC_INGRESS;
  return hook;
}

bpf_tc_opts our_place() {
  bpf_tc_opts place{};
  place.sz = sizeof place;
  place.handle = TcPorts::handle;
  place.priority = TcPorts::priority;
  return place;
}

/// The kernel keeps 15 characters of a program's name.
bool is_ours(std::uint32_t program_id) {
  const int fd = bpf_prog_get_fd_by_id(program_id);
  if (fd < 0) return false;
  bpf_prog_info info{};
  std::uint32_t size = sizeof info;
  const int error = bpf_obj_get_info_by_fd(fd, &info, &size);
  close(fd);
  return error == 0 && std::string_view(TcPorts::program_name).starts_with(info.name) &&
         info.name[0] != '\0';
}

std::uint32_t id_of(int program) {
  bpf_prog_info info{};
  std::uint32_t size = sizeof info;
  return bpf_obj_get_info_by_fd(program, &info, &size) == 0 ? info.id : 0;
}

[[noreturn]] void fail(const std::string& port, const std::string& what, int error) {
  throw Error(ErrorKind::transport, "port " + port + ": " + what + ": " + std::strerror(-error));
}

}  // namespace

TcPorts::TcPorts(const std::vector<std::string>& ports, int program)
    : program_id_(id_of(program)), owner_(program) {
  try {
    for (const std::string& port : ports) {
      const unsigned device = if_nametoindex(port.c_str());
      if (device == 0)
        throw Error(ErrorKind::invalid_argument,
                    "--ports: there is no network device '" + port + "' in this namespace");
      attach(port, static_cast<int>(device), program);
      devices_.push_back(static_cast<int>(device));
    }
  } catch (...) {
    detach_all();
    throw;
  }
}

/// @throws Error(transport) for a program that is not what an ended process of ours has left.
void TcPorts::expect_left_behind(const std::string& port, std::uint32_t program_id) {
  const std::string remove =
      "tc filter del dev " + port + " ingress pref " + std::to_string(priority);
  if (!is_ours(program_id))
    throw Error(ErrorKind::transport, "port " + port + ": another program has priority " +
                                          std::to_string(priority) +
                                          "; remove it first: " + remove);
  switch (ProgramOwner::state_of(program_id)) {
    case ProgramOwner::State::lives:
      throw Error(ErrorKind::transport, "port " + port + " has a cohom-aggregator already");
    case ProgramOwner::State::unknown:
      throw Error(ErrorKind::transport, "port " + port +
                                            ": a cohom-aggregator of another version has put its "
                                            "program there; when it has ended: " +
                                            remove);
    case ProgramOwner::State::ended: break;
  }
  log().info("port {}: replacing the program that an earlier process has left", port);
}

TcPorts::~TcPorts() { detach_all(); }

void TcPorts::attach(const std::string& port, int device, int program) {
  bpf_tc_hook hook = ingress_of(device);
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST)
    fail(port, "clsact", error);
  bpf_tc_opts place = our_place();
  const bool taken = bpf_tc_query(&hook, &place) == 0;
  if (taken) expect_left_behind(port, place.prog_id);
  place = our_place();
  place.prog_fd = program;
  // Else a program that has come meanwhile stays.
  place.flags = taken ? BPF_TC_F_REPLACE : 0;
  if (const int error = bpf_tc_attach(&hook, &place); error != 0) fail(port, "attach", error);
}

void TcPorts::detach_all() noexcept {
  for (const int device : devices_) {
    const bpf_tc_hook hook = ingress_of(device);
    bpf_tc_opts place = our_place();
    if (bpf_tc_query(&hook, &place) != 0 || place.prog_id != program_id_) continue;
    place = our_place();
    bpf_tc_detach(&hook, &place);
  }
  devices_.clear();
}

}  // namespace cohom::offload
