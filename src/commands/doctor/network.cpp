#include "commands/doctor/network.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace rueda {
namespace {

constexpr std::array kVirtual = {
    std::pair{"container", std::to_array<std::string_view>({"docker", "br-", "veth", "cni", "lxc",
                                                            "lxdbr", "podman", "virbr", "flannel",
                                                            "cali", "weave", "kube"})},
    std::pair{"VPN",
              std::to_array<std::string_view>({"tun", "tap", "wg", "ppp", "tailscale", "zt",
                                               "ipsec", "vpn", "nordlynx", "utun", "gre", "sit"})}};

std::string text_of_address(const sockaddr& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  const char* done = inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  if (done == nullptr) return "";
  return done;
}

}  // namespace

std::vector<NetworkInterface> network_interfaces() {
  std::vector<NetworkInterface> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    found.push_back({one->ifa_name, text_of_address(*one->ifa_addr), (one->ifa_flags & IFF_UP) != 0,
                     (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return found;
}

std::string_view virtual_kind(std::string_view name) {
  for (const auto& [kind, beginnings] : kVirtual) {
    const auto begins = [name](std::string_view word) { return name.starts_with(word); };
    if (std::ranges::any_of(beginnings, begins)) return kind;
  }
  return "";
}

}  // namespace rueda
