#include "offload/tc_ports.hpp"

#include "log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

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

/// Abstract names are one namespace's own, and free again when their process has ended.
FileDescriptor claim(const std::string& port) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = "cohom-aggregator/" + port;
  text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (!socket.open() || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), size) != 0)
    throw Error(ErrorKind::transport, "port " + port + " has a cohom-aggregator already");
  return socket;
}

[[noreturn]] void fail(const std::string& port, const std::string& what, int error) {
  throw Error(ErrorKind::transport, "port " + port + ": " + what + ": " + std::strerror(-error));
}

}  // namespace

TcPorts::TcPorts(const std::vector<std::string>& ports, int program) : program_id_(id_of(program)) {
  try {
    for (const std::string& port : ports) {
      const unsigned device = if_nametoindex(port.c_str());
      if (device == 0)
        throw Error(ErrorKind::invalid_argument,
                    "--ports: there is no network device '" + port + "' in this namespace");
      FileDescriptor claimed = claim(port);
      attach(port, static_cast<int>(device), program);
      ports_.push_back({static_cast<int>(device), std::move(claimed)});
    }
  } catch (...) {
    detach_all();
    throw;
  }
}

TcPorts::~TcPorts() { detach_all(); }

void TcPorts::attach(const std::string& port, int device, int program) {
  bpf_tc_hook hook = ingress_of(device);
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST)
    fail(port, "clsact", error);
  bpf_tc_opts place = our_place();
  if (bpf_tc_query(&hook, &place) == 0) {
    if (!is_ours(place.prog_id))
      throw Error(ErrorKind::transport, "port " + port + ": another program has priority " +
                                            std::to_string(priority) + "; remove it first");
    log().info("port {}: replacing the program that an earlier process has left", port);
  }
  place = our_place();
  place.prog_fd = program;
  place.flags = BPF_TC_F_REPLACE;
  if (const int error = bpf_tc_attach(&hook, &place); error != 0) fail(port, "attach", error);
}

void TcPorts::detach_all() noexcept {
  for (const Port& port : ports_) {
    const bpf_tc_hook hook = ingress_of(port.device);
    bpf_tc_opts place = our_place();
    if (bpf_tc_query(&hook, &place) != 0 || place.prog_id != program_id_) continue;
    place = our_place();
    bpf_tc_detach(&hook, &place);
  }
  ports_.clear();
}

}  // namespace cohom::offload
