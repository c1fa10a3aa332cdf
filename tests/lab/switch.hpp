#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include "tap.hpp"

namespace rueda::lab {

/// What all links of a switch are like.
struct LinkKind {
  double bits_per_second = 0;    ///< 0: no limit
  std::int64_t delay = 0;        ///< nanoseconds, one way
  std::int64_t queue_bytes = 0;  ///< what would make a queue longer is dropped
};

/// A link's one direction: frames in order of time, and when the link is free again.
class Queue {
 public:
  bool has_room(const Frame& frame, std::int64_t most) {
    if (bytes_ + frame.on_wire <= most) return true;
    ++dropped;
    return false;
  }
  void push(Frame frame);
  Frame pop();
  bool empty() const { return frames_.empty(); }
  const Frame& front() const { return frames_.front(); }

  std::int64_t free_at = 0;
  std::uint64_t dropped = 0;

 private:
  std::deque<Frame> frames_;
  std::int64_t bytes_ = 0;
};

/// Joins one device in each of several network namespaces. A frame leaves its host at the link's
/// rate, travels for its delay, and enters its target at the rate, so that several senders share a
/// receiver's link. The rate counts what Linux's shapers count. A bundle passes as one, at the time
/// of its last byte. Port i is meant for the MAC address 02:77:00:00:00:i.
class Switch {
 public:
  Switch(const LinkKind& kind, const std::string& device, const std::vector<std::string>& hosts);

  /// Until `stop` is set by a handler of a signal that is blocked otherwise.
  void run(const volatile int& stop);
  /// A line for each port: frames, lateness, losses.
  std::string report() const;

 private:
  struct Port {
    Tap tap;
    Queue up;    ///< from the host; a frame is due when its last byte is at the other end
    Queue down;  ///< to the host, only where frames of several senders meet
    std::uint64_t passed = 0;
    std::int64_t latest = 0;
    double late = 0;  ///< nanoseconds of all frames together
  };

  std::int64_t time_on_wire(std::int64_t bytes) const;
  std::unique_ptr<Frame::Bytes> take();
  void give(Frame frame) { spare_.push_back(std::move(frame.bytes)); }
  std::int64_t deliver();
  void forward(std::size_t from, Frame frame);
  void broadcast(std::size_t from, const Frame& frame);
  void enter(Port& to, Frame frame);
  void hand_over(Port& to, Frame frame);
  void collect();
  void collect_one(Port& port);

  LinkKind kind_;
  std::deque<Port> ports_;  // which does not move what it holds
  std::vector<pollfd> polls_;
  std::vector<std::unique_ptr<Frame::Bytes>> spare_;
};

}  // namespace rueda::lab
