#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "error.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace standin = rueda::standin;
using standin::Item;
using standin::note;

namespace {

struct Rows {
  std::size_t pitch_to;
  std::size_t pitch_from;
  std::size_t width;
  std::size_t height;
};

std::size_t extent(std::size_t pitch, const Rows& rows) {
  return rows.height == 0 ? 0 : (rows.height - 1) * pitch + rows.width;
}

bool may_be(const void* address, std::size_t bytes, bool on_device) {
  if (on_device) return standin::is_device_range(address, bytes);
  return !standin::is_device_address(address);
}

/// Whether both ends lie where `kind` says they do, and wholly so.
bool is_valid(const void* to, const void* from, const Rows& rows, cudaMemcpyKind kind) {
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) {
    to_device = standin::is_device_address(to);
    from_device = standin::is_device_address(from);
  }
  return to != nullptr && from != nullptr && rows.width <= rows.pitch_to &&
         rows.width <= rows.pitch_from && may_be(to, extent(rows.pitch_to, rows), to_device) &&
         may_be(from, extent(rows.pitch_from, rows), from_device);
}

void copy_rows(void* to, const void* from, const Rows& rows) {
  for (std::size_t i = 0; i < rows.height; ++i) {
    std::memmove(static_cast<std::byte*>(to) + i * rows.pitch_to,
                 static_cast<const std::byte*>(from) + i * rows.pitch_from, rows.width);
  }
}

bool is_pageable(const void* address) {
  return !standin::MemoryMap::instance().find(address).has_value();
}

bool is_captured(cudaStream_t handle) {
  const std::lock_guard lock(standin::order_mutex());
  const standin::Stream* stream = standin::find_stream(handle);
  return stream != nullptr && standin::capture_of(*stream) != nullptr;
}

/// What is pageable has been read when the call returns, as CUDA reads it into memory of its own.
Item copy_of_read(void* to, const void* from, const Rows& rows) {
  const auto* first = static_cast<const std::byte*>(from);
  auto read =
      std::make_shared<std::vector<std::byte>>(first, first + extent(rows.pitch_from, rows));
  return [=] { copy_rows(to, read->data(), rows); };
}

cudaError_t copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  if (!is_valid(to, from, rows, kind)) return cudaErrorInvalidValue;
  if (is_captured(stream)) {
    return standin::submit(
        stream, [=] { copy_rows(to, from, rows); }, cudaGraphNodeTypeMemcpy);
  }
  Item item =
      is_pageable(from) ? copy_of_read(to, from, rows) : Item([=] { copy_rows(to, from, rows); });
  const cudaError_t code = standin::submit(stream, std::move(item), cudaGraphNodeTypeMemcpy);
  if (code != cudaSuccess || !is_pageable(to)) return code;
  return cudaStreamSynchronize(stream);  // as CUDA, which then has no more memory to go through
}

cudaError_t fill(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                 cudaStream_t stream) {
  const Rows rows{pitch, width, width, height};
  if (width == 0 || height == 0) return cudaSuccess;
  if (width > pitch || !standin::is_device_range(to, extent(pitch, rows))) {
    return cudaErrorInvalidValue;
  }
  const auto set_rows = [=] {
    for (std::size_t i = 0; i < height; ++i) {
      std::memset(static_cast<std::byte*>(to) + i * pitch, value, width);
    }
  };
  return standin::submit(stream, set_rows, cudaGraphNodeTypeMemset);
}

cudaError_t wait_for_legacy(cudaError_t code) {
  return code == cudaSuccess ? cudaStreamSynchronize(nullptr) : code;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return note(copy(to, from, {bytes, bytes, bytes, 1}, kind, stream));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return note(wait_for_legacy(copy(to, from, {bytes, bytes, bytes, 1}, kind, nullptr)));
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t pitch_to, const void* from, size_t pitch_from,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return note(copy(to, from, {pitch_to, pitch_from, width, height}, kind, stream));
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return note(fill(to, bytes, value, bytes, 1, stream));
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return note(wait_for_legacy(fill(to, bytes, value, bytes, 1, nullptr)));
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return note(fill(to, pitch, value, width, height, stream));
}

}  // extern "C"
