#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace rueda {

/// Owner of a block of device memory, zeroed, aligned for any kernel.
class Memory {
 public:
  using Free = std::function<void(std::byte*)>;

  Memory() = default;
  Memory(void* data, std::size_t size, Free free)
      : data_(static_cast<std::byte*>(data), std::move(free)), size_(size) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  /// The block seen as floats.
  std::span<float> floats() const {
    return {reinterpret_cast<float*>(data()), size() / sizeof(float)};
  }

 private:
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace rueda
