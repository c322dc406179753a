#include "aggregation/server/network_device.hpp"

#include "aggregation/net/endpoint.hpp"

#include <ifaddrs.h>

#include <cstring>
#include <memory>

namespace cohom::offload {

std::string device_of(const sockaddr_in& address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) throw_system_error("getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  std::string device;
  for (const ifaddrs* one = all; one != nullptr && device.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in own{}, mask{};
    std::memcpy(&own, one->ifa_addr, sizeof own);
    if (one->ifa_netmask != nullptr) std::memcpy(&mask, one->ifa_netmask, sizeof mask);
    // All of 127.0.0.0/8 is the loopback device's.
    const bool loopback = (ntohl(own.sin_addr.s_addr) >> 24) == 127;
    const bool same = own.sin_addr.s_addr == address.sin_addr.s_addr ||
                      (loopback && (own.sin_addr.s_addr & mask.sin_addr.s_addr) ==
                                       (address.sin_addr.s_addr & mask.sin_addr.s_addr));
    if (same) device = one->ifa_name;
  }
  return device.substr(0, device.find(':'));  // eth0:1 is an address of eth0
}

}  // namespace cohom::offload
