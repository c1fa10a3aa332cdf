#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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

}  // namespace rueda::lab
