#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rueda/backend/batch_stager.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// An image set resident on a device.
class DeviceImages {
 public:
  virtual ~DeviceImages() = default;
};

struct BatchRequest;  // backend/host_batch.hpp

/// How images become a network's input on a device: from a set that it holds,
/// or in batches that the host prepares. A device that fails throws RunError.
class BatchInput {
 public:
  virtual ~BatchInput() = default;

  virtual std::unique_ptr<DeviceImages> hold(const ImageSet& images) = 0;
  /// Bytes on the device that `hold` takes for a set of `images`.
  virtual std::size_t image_bytes(std::size_t /*images*/) const { return 0; }
  /// Gathers, crops, flips, resizes and normalises a batch into the input
  /// activation, in one pass, and its labels into `labels`.
  virtual void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) = 0;
  /// The way for batches of up to `batch` images of `image_size` pixels a side
  /// that the host prepares. Goes before the backend.
  virtual std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) = 0;
  /// Bytes of the device that it will hold, beyond what the replica does.
  virtual std::size_t stager_bytes(int image_size, std::size_t batch) const = 0;
};

}  // namespace rueda
