#include "switch.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rueda::lab {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSpin = 30'000;  // so near to an event, polling keeps time better than sleep
constexpr int kBurst = 16;              // frames of one host before the others have their turn

std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Hands on what is due, and says in how many nanoseconds the next frame is.
template <typename Hand>
std::int64_t release(Queue& queue, Hand hand) {
  while (!queue.empty()) {
    const std::int64_t wait = queue.front().due - now();
    if (wait > 0) return wait;
    hand(queue.pop());
  }
  return kNever;
}

constexpr std::int64_t kShort = 400;  // bytes of an acknowledgement, of TCP or of MPI

bool same_target(const Frame& a, const Frame& b) {
  return std::memcmp(a.target(), b.target(), kMacBytes) == 0;
}

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
  const auto bytes = std::int64_t(frame.length - sizeof o);
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
  frame.length = std::size_t(got);
  frame.on_wire = bytes_on_wire(frame);
  return true;
}

bool Tap::write(const Frame& frame) const {
  return ::write(descriptor_, frame.bytes->data(), frame.length) >= 0;
}

void Queue::push(Frame frame) {
  bytes_ += frame.on_wire;
  frames_.push_back(std::move(frame));
}

Frame Queue::pop() {
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  bytes_ -= frame.on_wire;
  return frame;
}

Switch::Switch(const LinkKind& kind, const std::string& device,
               const std::vector<std::string>& hosts)
    : kind_(kind) {
  for (const std::string& host : hosts) {
    ports_.push_back({.tap = Tap(host, device), .up = {}, .down = {}});
    polls_.push_back({ports_.back().tap.descriptor(), POLLIN, 0});
  }
}

void Switch::run(const volatile int& stop) {
  sigset_t none;  // signals are let in only while it sleeps: none falls between check and sleep
  sigemptyset(&none);
  while (stop == 0) {
    const std::int64_t wait = deliver();
    const std::int64_t sleep = std::max<std::int64_t>(0, wait - kSpin);
    const timespec limit{sleep / 1'000'000'000, sleep % 1'000'000'000};
    const int ready = ppoll(polls_.data(), polls_.size(), wait == kNever ? nullptr : &limit, &none);
    if (ready > 0) collect();
  }
}

std::string Switch::report() const {
  std::string text;
  char line[200];
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& p = ports_[i];
    const double frames = std::max(1.0, double(p.passed));
    std::snprintf(line, sizeof line,
                  "wire: port %zu: %llu frames, late by %.1f us on average, %.1f at most; "
                  "%llu lost leaving the host, %llu entering it\n",
                  i, static_cast<unsigned long long>(p.passed), p.late / frames * 1e-3,
                  double(p.latest) * 1e-3, static_cast<unsigned long long>(p.up.dropped),
                  static_cast<unsigned long long>(p.down.dropped));
    text += line;
  }
  return text;
}

std::int64_t Switch::time_on_wire(std::int64_t bytes) const {
  if (kind_.bits_per_second <= 0) return 0;
  return std::int64_t(double(bytes) * 8e9 / kind_.bits_per_second);
}

std::unique_ptr<Frame::Bytes> Switch::take() {
  if (spare_.empty()) return std::make_unique<Frame::Bytes>();
  auto bytes = std::move(spare_.back());
  spare_.pop_back();
  return bytes;
}

std::int64_t Switch::deliver() {
  std::int64_t next = kNever;
  for (std::size_t from = 0; from < ports_.size(); ++from) {
    const auto hand = [&](Frame frame) { forward(from, std::move(frame)); };
    next = std::min({next, release(ports_[from].up, hand), release(ports_[from].soon, hand)});
  }
  for (Port& port : ports_) {
    const auto hand = [&](Frame frame) { hand_over(port, std::move(frame)); };
    next = std::min(next, release(port.down, hand));
  }
  return next;
}

void Switch::forward(std::size_t from, Frame frame) {
  const unsigned char* mac = frame.target();
  if ((mac[0] & 1U) != 0) {
    broadcast(from, frame);
  } else if (mac[0] == 2 && mac[1] == 0x77) {
    const std::size_t to = mac[kMacBytes - 1];
    if (to < ports_.size() && to != from) return enter(ports_[to], std::move(frame));
  }
  give(std::move(frame));
}

void Switch::broadcast(std::size_t from, const Frame& frame) {
  for (std::size_t to = 0; to < ports_.size(); ++to) {
    if (to == from) continue;
    Frame copy{take(), frame.length, frame.on_wire, frame.due};
    std::memcpy(copy.bytes->data(), frame.bytes->data(), frame.length);
    enter(ports_[to], std::move(copy));
  }
}

/// The receiver's link carries a frame while it arrives, or right after what is ahead of it.
void Switch::enter(Port& to, Frame frame) {
  if (!to.down.has_room(frame, kind_.queue_bytes)) return give(std::move(frame));
  const std::int64_t arrived = frame.due;
  frame.due = std::max(arrived, to.down.free_at + time_on_wire(frame.on_wire));
  to.down.free_at = frame.due;
  if (to.down.empty() && frame.due == arrived) {
    hand_over(to, std::move(frame));
  } else {
    to.down.push(std::move(frame));
  }
}

void Switch::hand_over(Port& to, Frame frame) {
  const std::int64_t late = now() - frame.due;
  to.latest = std::max(to.latest, late);
  to.late += double(late);
  ++to.passed;
  if (!to.tap.write(frame)) ++to.down.dropped;
  give(std::move(frame));
}

void Switch::collect() {
  for (std::size_t from = 0; from < ports_.size(); ++from) {
    if ((polls_[from].revents & POLLIN) != 0) collect_one(ports_[from]);
  }
}

void Switch::collect_one(Port& port) {
  for (int i = 0; i < kBurst; ++i) {
    Frame frame{take()};
    if (!port.tap.read(frame)) return give(std::move(frame));
    if (!port.up.has_room(frame, kind_.queue_bytes)) {
      give(std::move(frame));
      continue;
    }
    // Linux's fair queueing lets the few frames of a connection that only acknowledges pass those
    // of another. Without it they wait for all that TCP has queued, and rings take longer.
    const bool overtakes =
        frame.on_wire <= kShort && !port.up.empty() && !same_target(port.up.back(), frame);
    const std::int64_t begin = overtakes ? now() : std::max(port.up.free_at, now());
    frame.due = begin + time_on_wire(frame.on_wire) + kind_.delay;
    if (overtakes) {
      port.soon.push(std::move(frame));
      continue;
    }
    port.up.free_at = frame.due - kind_.delay;
    port.up.push(std::move(frame));
  }
}

}  // namespace rueda::lab
