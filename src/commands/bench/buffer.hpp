#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "rueda/backend/backend.hpp"

namespace rueda::bench {

/// Memory that is summed in place.
class Buffer {
 public:
  virtual ~Buffer() = default;
  /// All of it, where the all-reduce takes it.
  virtual std::span<float> floats() = 0;
  /// Done on return, both ways.
  virtual void upload(std::span<float> to, std::span<const float> host) = 0;
  virtual void download(std::span<float> host, std::span<const float> from) = 0;
};

/// Of the backend's memory, taken once for all sizes as the arena of a training run is. Throws
/// OutOfMemory.
std::unique_ptr<Buffer> make_buffer(Backend& backend, std::size_t bytes);
/// Memory of the backend's kind that an all-reduce has: for example a window that the ranks of a
/// host share.
std::unique_ptr<Buffer> make_buffer(Backend& backend, std::span<float> arena);

}  // namespace rueda::bench
