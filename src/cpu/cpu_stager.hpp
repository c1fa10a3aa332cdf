#pragma once

#include <array>
#include <vector>

#include "context.hpp"
#include "rueda/backend/batch_stager.hpp"

namespace rueda::cpu {

/// The image lies plain, whatever the layout of the network behind it.
inline InputFormat input_format(const ActivationFormat& format) {
  return {.bf16 = format.precision == Precision::bf16, .channels_last = false};
}

/// Host memory is this device's memory: nothing is copied over a bus. Operations are bound to the
/// address of the network's input, so `deliver` still copies once.
class CpuStager final : public BatchStager {
 public:
  CpuStager(const InputFormat& format, int image_size, std::size_t batch);

  InputFormat format() const override { return format_; }
  std::byte* input(std::size_t slot) override { return slots_[slot].input.data(); }
  std::int32_t* labels(std::size_t slot) override { return slots_[slot].labels.data(); }
  bool copies() const override { return false; }
  void upload(std::size_t slot, std::size_t images) override { slots_[slot].images = images; }
  CopyCost wait(std::size_t) override { return {}; }
  void deliver(std::size_t slot, std::byte* input, std::int32_t* labels) override;
  std::size_t device_bytes() const override;

 private:
  struct Slot {
    HostMemory input;
    std::vector<std::int32_t> labels;
    std::size_t images = 0;
  };

  InputFormat format_;
  std::size_t image_bytes_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace rueda::cpu
