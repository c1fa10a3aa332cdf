#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "rueda/backend/backend.hpp"

namespace rueda::bench {

/// The memory that is summed in place. An algorithm that wants it in a place of its own, for
/// example in a window that all ranks of a host share, gets another one from `make_buffer`.
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

}  // namespace rueda::bench
