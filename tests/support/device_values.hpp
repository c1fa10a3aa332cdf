#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend_under_test.hpp"

namespace rueda::test {

/// What lies at `device` when all of the backend's work is done.
template <typename T>
std::vector<T> read_values(Backend& backend, std::span<const T> device) {
  std::vector<T> host(device.size());
  backend.finish();
  read_bytes(std::as_writable_bytes(std::span(host)),
             reinterpret_cast<const std::byte*>(device.data()));
  return host;
}

inline std::vector<float> read_floats(Backend& backend, std::span<const float> device) {
  return read_values(backend, device);
}

/// A vector in a backend's memory.
template <typename T>
class DeviceValues {
 public:
  DeviceValues(Backend& backend, const std::vector<T>& values)
      : backend_(backend),
        size_(values.size()),
        memory_(backend.allocate(values.size() * sizeof(T))) {
    write_bytes(bytes(), std::as_bytes(std::span(values)));
  }

  std::byte* bytes() const { return memory_->data(); }
  T* data() const { return reinterpret_cast<T*>(bytes()); }
  std::span<T> span() const { return {data(), size_}; }
  std::vector<T> read() const { return read_values<T>(backend_, span()); }

 private:
  Backend& backend_;
  std::size_t size_;
  std::unique_ptr<Memory> memory_;
};

using DeviceFloats = DeviceValues<float>;
using DeviceLabels = DeviceValues<std::int32_t>;

}  // namespace rueda::test
