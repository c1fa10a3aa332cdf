#pragma once

#include <cstddef>
#include <cstdint>

namespace rueda {

/// How the input of a network lies in a backend's memory, image after image.
struct InputFormat {
  bool bf16 = false;           ///< else fp32
  bool channels_last = false;  ///< (height, width, channels) in place of (channels, height, width)

  /// Bytes of one image of `side` x `side` pixels.
  std::size_t image_bytes(int side) const noexcept;
};

/// What it took to copy one batch to the device; zeros where host memory is the device's.
struct CopyCost {
  double seconds = 0;  ///< of copying, without waiting for its turn
  std::uint64_t bytes = 0;
};

/// The way of batches that the host prepares: two slots of host memory, each
/// filled by any threads with make_host_image, copied to the device during its
/// other work, and delivered into a network. A slot goes fill, upload, wait,
/// deliver, and then from the beginning.
class BatchStager {
 public:
  static constexpr std::size_t kSlots = 2;  ///< one is computed with while the other is filled

  virtual ~BatchStager() = default;

  virtual InputFormat format() const = 0;
  /// Host memory for the images of a slot, one after the other, and for their
  /// labels. May be written as soon as the slot's last `deliver` has returned.
  virtual std::byte* input(std::size_t slot) = 0;
  virtual std::int32_t* labels(std::size_t slot) = 0;

  /// Whether there is anything to copy: false where host memory is the device's.
  virtual bool copies() const = 0;
  /// Begins to copy the slot's first `images` to the device, and returns. Any thread.
  virtual void upload(std::size_t slot, std::size_t images) = 0;
  /// Blocks until they are there.
  virtual CopyCost wait(std::size_t slot) = 0;
  /// Brings the slot's images into a network's input and its labels: device
  /// work in the order of the backend's other calls, and after the upload.
  virtual void deliver(std::size_t slot, std::byte* input, std::int32_t* labels) = 0;
};

}  // namespace rueda
