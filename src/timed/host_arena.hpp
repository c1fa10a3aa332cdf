#pragma once

#include "rueda/backend/backend.hpp"

namespace rueda::timed {

/// Zeroed memory of which only what is written takes room in the machine.
class HostArena final : public Memory {
 public:
  /// Throws OutOfMemory.
  explicit HostArena(std::size_t bytes);
  ~HostArena() override;
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;
  std::byte* data() override { return data_; }
  std::size_t size() const override { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace rueda::timed
