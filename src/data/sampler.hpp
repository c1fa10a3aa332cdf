#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/split.hpp"
#include "rueda/data/shard.hpp"

namespace rueda {

struct SamplerOptions {
  std::size_t samples = 0;       ///< size of the data set
  std::size_t global_batch = 0;  ///< samples of one optimizer step over all ranks and micro-batches
  std::size_t parts = 1;         ///< world size x micro-batches: the *virtual ranks*
  /// Of each rank: samples in a full step. Empty: all have the same.
  std::vector<std::size_t> shares = {};
  std::uint64_t seed = 1;
  bool shuffle = true;
  Shard shard = Shard::step;
  LastBatch last_batch = LastBatch::keep;

  /// The part of `total` samples that falls to virtual rank `part`. Without
  /// shares the sizes differ by at most one. With shares, a step of fewer samples
  /// is cut in the same proportions, and a rank's micro-batches are equal.
  Range part_of(std::size_t total, std::size_t part) const noexcept;
};

/// Says which samples belong to which step and virtual rank: a pure function of
/// (options, epoch, step, virtual rank). Virtual rank v = rank * micro_batches
/// + micro_batch, so one rank with K micro-batches draws exactly what K ranks
/// with one each would.
class Sampler {
 public:
  /// Throws InputError if there are fewer samples than virtual ranks or no step would remain.
  explicit Sampler(const SamplerOptions& options);

  std::size_t steps_per_epoch() const noexcept { return steps_; }
  /// Samples of step `step` over all virtual ranks: the global batch, or less in the last step.
  std::size_t step_samples(std::size_t step) const noexcept {
    if (step >= steps_) return 0;
    return std::min(options_.global_batch, used_ - step * options_.global_batch);
  }
  /// How many of them fall to virtual rank `part` (may be 0).
  std::size_t part_samples(std::size_t step, std::size_t part) const noexcept {
    return options_.part_of(step_samples(step), part).size();
  }
  /// Every part size that occurs for `part` in an epoch, without repeats, largest first.
  std::vector<std::size_t> part_sizes(std::size_t part) const;

  /// Makes `epoch` the one that `indices` speaks of. Epochs count from 0.
  void set_epoch(std::size_t epoch);
  /// Data set indices of (step, part) in the current epoch, in order.
  std::vector<std::uint32_t> indices(std::size_t step, std::size_t part) const;

 private:
  Range slice_of(std::size_t part) const noexcept;

  SamplerOptions options_;
  std::size_t steps_ = 0;
  std::size_t used_ = 0;              ///< samples that an epoch draws (fewer than all with `drop`)
  std::vector<std::uint32_t> order_;  ///< the epoch's permutation of the data set
};

}  // namespace rueda
