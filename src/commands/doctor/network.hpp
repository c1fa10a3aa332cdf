#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rueda {

/// A network interface of this machine with one of its IPv4 addresses.
struct NetworkInterface {
  std::string name;
  std::string address;    ///< "10.77.0.1"
  bool up = false;        ///< switched on; MPI leaves out those that are not
  bool loopback = false;  ///< every machine has the same one

  bool operator==(const NetworkInterface&) const = default;
};

/// Those that have an IPv4 address, in the system's order. Empty where the
/// system does not say.
std::vector<NetworkInterface> network_interfaces();

/// "container" or "VPN" where the name is one that such software gives to its
/// interfaces, which mostly lead to no other machine of a run; else empty.
std::string_view virtual_kind(std::string_view name);

}  // namespace rueda
