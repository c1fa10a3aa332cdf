#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

namespace rueda::lab {

/// What the kernel puts before each frame (virtio_net_hdr, whose own header is not C++).
struct Offload {
  std::uint8_t flags;
  std::uint8_t bundle;   ///< 0: one frame; else segments that the kernel kept together
  std::uint16_t header;  ///< bytes in front of each segment of a bundle
  std::uint16_t segment;
  std::uint16_t checksum_start;
  std::uint16_t checksum_offset;
};
static_assert(sizeof(Offload) == 10);

inline constexpr std::size_t kMacBytes = 6;

/// A frame, or a bundle of them, with its Offload in front.
struct Frame {
  using Bytes = std::array<unsigned char, sizeof(Offload) + 65536 + 64>;

  std::unique_ptr<Bytes> bytes;
  std::size_t length = 0;
  std::int64_t on_wire = 0;  ///< bytes that a wire carries: the headers of all segments counted
  std::int64_t due = 0;      ///< nanoseconds of steady time

  const unsigned char* target() const { return bytes->data() + sizeof(Offload); }
};

/// Bytes that a wire carries for what lies in the frame.
std::int64_t bytes_on_wire(const Frame& frame);

/// One end of a network device whose frames this process reads and writes.
class Tap {
 public:
  /// Makes `device` in a network namespace of `ip netns`, and leaves this process in it. Throws
  /// std::system_error.
  Tap(const std::string& network_namespace, const std::string& device);

  int descriptor() const { return descriptor_; }
  /// False if there is nothing to read.
  bool read(Frame& frame) const;
  /// False if the device does not take it.
  bool write(const Frame& frame) const;

 private:
  int descriptor_;  // as long as the process
};

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
  const Frame& back() const { return frames_.back(); }

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
    Queue up;      ///< from the host; a frame is due when its last byte is at the other end
    Queue soon{};  ///< from the host; short frames, which overtake those to another host
    Queue down{};  ///< to the host, only where frames of several senders meet
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
