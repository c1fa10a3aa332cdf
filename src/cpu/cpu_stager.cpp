#include "cpu_stager.hpp"

#include <algorithm>
#include <cstring>

#include "parallel.hpp"

namespace rueda::cpu {

CpuStager::CpuStager(const InputFormat& format, int image_size, std::size_t batch)
    : format_(format),
      image_bytes_(format.image_bytes(image_size)),
      slots_{Slot{HostMemory(batch * image_bytes_), std::vector<std::int32_t>(batch)},
             Slot{HostMemory(batch * image_bytes_), std::vector<std::int32_t>(batch)}} {}

void CpuStager::deliver(std::size_t slot, std::byte* input, std::int32_t* labels) {
  Slot& from = slots_[slot];
  parallel_for(from.images, [&](std::size_t i) {
    const std::size_t offset = i * image_bytes_;
    std::memcpy(input + offset, from.input.data() + offset, image_bytes_);
  });
  std::copy_n(from.labels.begin(), from.images, labels);
}

std::size_t CpuStager::device_bytes() const {
  std::size_t bytes = 0;
  for (const Slot& slot : slots_) {
    bytes += slot.input.size() + slot.labels.size() * sizeof(std::int32_t);
  }
  return bytes;
}

}  // namespace rueda::cpu
