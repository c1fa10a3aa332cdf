#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "switch.hpp"

namespace rueda::lab {
namespace {

constexpr std::size_t kShortestFrame = sizeof(Offload) + 14;

int checked(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void enter(const std::string& network_namespace) {
  const std::string path = "/var/run/netns/" + network_namespace;
  const int space = checked(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  checked(setns(space, CLONE_NEWNET), "entering " + path);
  close(space);
}

}  // namespace

std::int64_t bytes_on_wire(const Frame& frame) {
  Offload o{};
  std::memcpy(&o, frame.bytes->data(), sizeof o);
  const auto bytes = static_cast<std::int64_t>(frame.length - sizeof o);
  if (o.bundle == 0 || o.segment == 0) return bytes;
  const std::int64_t segments = (bytes - o.header + o.segment - 1) / o.segment;
  return bytes + (std::max<std::int64_t>(segments, 1) - 1) * o.header;
}

Tap::Tap(const std::string& network_namespace, const std::string& device) {
  enter(network_namespace);
  descriptor_ = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device.c_str());
  checked(ioctl(descriptor_, TUNSETIFF, &request), device + " in " + network_namespace);
  // Bundles of segments pass as one: an eighth of the work.
  checked(ioctl(descriptor_, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), device);
}

bool Tap::read(Frame& frame) const {
  const ssize_t got = ::read(descriptor_, frame.bytes->data(), frame.bytes->size());
  if (got < static_cast<ssize_t>(kShortestFrame)) return false;
  frame.length = static_cast<std::size_t>(got);
  frame.on_wire = bytes_on_wire(frame);
  return true;
}

bool Tap::write(const Frame& frame) const {
  return ::write(descriptor_, frame.bytes->data(), frame.length) >= 0;
}

}  // namespace rueda::lab
