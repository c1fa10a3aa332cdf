#include "switch.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

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

}  // namespace

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
    const double frames = std::max(1.0, static_cast<double>(p.passed));
    std::snprintf(line, sizeof line,
                  "wire: port %zu: %llu frames, late by %.1f us on average, %.1f at most; "
                  "%llu lost leaving the host, %llu entering it\n",
                  i, static_cast<unsigned long long>(p.passed), p.late / frames * 1e-3,
                  static_cast<double>(p.latest) * 1e-3,
                  static_cast<unsigned long long>(p.up.dropped),
                  static_cast<unsigned long long>(p.down.dropped));
    text += line;
  }
  return text;
}

std::int64_t Switch::time_on_wire(std::int64_t bytes) const {
  if (kind_.bits_per_second <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(bytes) * 8e9 / kind_.bits_per_second);
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
    next = std::min(next, release(ports_[from].up, hand));
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
  to.late += static_cast<double>(late);
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
    port.up.free_at = std::max(port.up.free_at, now()) + time_on_wire(frame.on_wire);
    frame.due = port.up.free_at + kind_.delay;
    port.up.push(std::move(frame));
  }
}

}  // namespace rueda::lab
