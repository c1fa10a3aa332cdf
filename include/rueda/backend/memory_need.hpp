#pragma once

#include <array>
#include <cstddef>

namespace rueda {

/// Bytes that one rank's training holds on its device. All of it is allocated at start-up.
struct MemoryNeed {
  std::size_t parameters = 0;
  std::size_t gradients = 0;
  std::size_t statistics = 0;
  std::size_t optimizer = 0;
  std::size_t packed = 0;
  std::size_t accumulation = 0;
  std::size_t messages = 0;
  std::size_t images = 0;
  std::size_t staging = 0;
  std::size_t activations = 0;
  std::size_t workspace = 0;
  std::size_t buffers = 0;

  /// What the choice of the model decides.
  std::size_t of_model() const noexcept { return sum(false); }
  /// What the batch decides besides.
  std::size_t of_batch() const noexcept { return sum(true); }
  std::size_t total() const noexcept { return of_model() + of_batch(); }

 private:
  std::size_t sum(bool grows_with_batch) const noexcept;
};

/// One part of the need, its name in tables and files, what it is, and its group.
struct MemoryPart {
  const char* name;
  std::size_t MemoryNeed::*bytes;
  const char* meaning;
  bool grows_with_batch = false;
};

inline constexpr std::array kMemoryParts = {
    MemoryPart{"parameters", &MemoryNeed::parameters, "fp32"},
    MemoryPart{"gradients", &MemoryNeed::gradients, "fp32, and what is summed along with them"},
    MemoryPart{"statistics", &MemoryNeed::statistics,
               "means and variances, batch's and running, and their weights"},
    MemoryPart{"optimizer", &MemoryNeed::optimizer, "velocities, fp32"},
    MemoryPart{"packed", &MemoryNeed::packed, "copies of the weights as kernels want them"},
    MemoryPart{"accumulation", &MemoryNeed::accumulation, "partial sums over micro-batches"},
    MemoryPart{"messages", &MemoryNeed::messages, "what the all-reduce receives into"},
    MemoryPart{"images", &MemoryNeed::images, "the data set, resident on the GPU"},
    MemoryPart{"staging", &MemoryNeed::staging, "batches on their way from the host", true},
    MemoryPart{"activations", &MemoryNeed::activations, "with their gradients", true},
    MemoryPart{"workspace", &MemoryNeed::workspace, "of the kernels", true},
    MemoryPart{"buffers", &MemoryNeed::buffers, "indices and losses of a batch", true},
};

inline std::size_t MemoryNeed::sum(bool grows_with_batch) const noexcept {
  std::size_t sum = 0;
  for (const MemoryPart& part : kMemoryParts)
    if (part.grows_with_batch == grows_with_batch) sum += this->*part.bytes;
  return sum;
}

}  // namespace rueda
