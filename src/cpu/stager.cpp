#include "cpu/stager.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "cpu/context.hpp"
#include "cpu/parallel.hpp"

namespace rueda::cpu {
namespace {

/// Host memory is this device's memory: nothing is copied over a bus.
/// Operations are bound to the address of the network's input, so `deliver`
/// still copies once.
class CpuStager final : public BatchStager {
 public:
  CpuStager(const InputFormat& format, int image_size, std::size_t batch)
      : format_(format), image_bytes_(format.image_bytes(image_size)) {
    for (Slot& slot : slots_)
      slot = {host_memory(batch * image_bytes_), std::vector<std::int32_t>(batch)};
  }

  InputFormat format() const override { return format_; }
  std::byte* input(std::size_t slot) override { return slots_[slot].input.data(); }
  std::int32_t* labels(std::size_t slot) override { return slots_[slot].labels.data(); }
  bool copies() const override { return false; }
  void upload(std::size_t slot, std::size_t images) override { slots_[slot].images = images; }
  CopyCost wait(std::size_t) override { return {}; }
  void deliver(std::size_t slot, std::byte* input, std::int32_t* labels) override {
    Slot& from = slots_[slot];
    parallel_for(from.images, [&](std::size_t i) {
      const std::size_t offset = i * image_bytes_;
      std::memcpy(input + offset, from.input.data() + offset, image_bytes_);
    });
    std::copy_n(from.labels.begin(), from.images, labels);
  }

 private:
  struct Slot {
    Memory input;
    std::vector<std::int32_t> labels;
    std::size_t images = 0;
  };

  InputFormat format_;
  std::size_t image_bytes_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace

std::unique_ptr<BatchStager> make_host_stager(const InputFormat& format, int image_size,
                                              std::size_t batch) {
  return std::make_unique<CpuStager>(format, image_size, batch);
}

}  // namespace rueda::cpu
