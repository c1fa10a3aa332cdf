#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda {

namespace kernels {
struct SgdStep;  // kernels/sgd.hpp
}

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

/// Sums over the rows of one batch.
struct LossSums {
  float loss = 0;
  float correct = 0;
};

/// Softmax cross entropy over `rows` rows of `classes` fp32 logits.
struct LossRequest {
  const std::byte* logits = nullptr;
  const std::int32_t* labels = nullptr;
  int rows = 0;
  int classes = 0;
  LossSums* sums = nullptr;       ///< on the device
  const float* scale = nullptr;   ///< on the device; one number
  std::byte* gradient = nullptr;  ///< receives that of *scale * (sum of the losses); null: not
};

/// A device's memory, and the arithmetic on it besides the layers of a network.
/// Pointers and spans are the device's own unless a name says host. Work is done
/// in the order of the calls; `finish` waits for it. A device that fails throws
/// RunError.
class Arithmetic {
 public:
  virtual ~Arithmetic() = default;

  /// Throws OutOfMemory.
  virtual Memory allocate(std::size_t bytes) = 0;
  /// Bytes of the memory that `allocate` takes from which are free at the
  /// moment, for all who share it; 0: the system does not tell.
  virtual std::size_t free_memory() const = 0;

  /// Host memory for `copy_later`.
  virtual Memory allocate_host(std::size_t bytes) { return allocate(bytes); }
  /// Copies a few numbers once all work so far is done, from or to memory of
  /// `allocate_host`. True: they are there. False: they are once `finish` or
  /// the `compute_seconds` of a later micro-batch has returned.
  virtual bool copy_later(std::span<float> to, std::span<const float> from) {
    download(to, from);
    return true;
  }
  virtual void zero(std::span<float> values) = 0;
  virtual void upload(std::span<float> device, std::span<const float> host) = 0;
  virtual void download(std::span<float> host, std::span<const float> device) = 0;
  /// Blocks until all work is done.
  virtual void finish() = 0;

  virtual void softmax_cross_entropy(const LossRequest& request) = 0;
  /// *to = {loss, correct, samples, nonfinite, flags->stop}; `nonfinite` is 1 if the loss or one of
  /// `statistics` is NaN or infinite, and then goes to flags->nonfinite too.
  virtual void write_step_sums(StepSums* to, const LossSums* sums,
                               std::span<const float> statistics, float samples,
                               RankFlags* flags) = 0;
  virtual void sgd_update(std::span<float> values, std::span<float> velocities,
                          std::span<const float> gradients, const kernels::SgdStep& step) = 0;
  /// to[i] = weighted_statistic(from[i], samples, bessel(samples * values_per_image[i])).
  virtual void weigh_statistics(std::span<float> to, std::span<const float> from,
                                std::span<const float> values_per_image, float samples) = 0;
  /// running[i] = updated_running(running[i], weighted_sums[i], samples, momentum).
  virtual void update_running(std::span<float> running, std::span<const float> weighted_sums,
                              float samples, float momentum) = 0;
  /// Sum over i of element_hash(i, values[i]) modulo 2^64.
  virtual std::uint64_t hash(std::span<const float> values) = 0;
  /// How many of `values` are NaN or infinite.
  virtual std::uint64_t nonfinite(std::span<const float> values) = 0;
};

}  // namespace rueda
