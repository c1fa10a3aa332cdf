#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/split.hpp"
#include "data/sampler.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/train/config.hpp"
#include "train/schedule.hpp"

namespace rueda {

/// The plan of a run, which follows from the configuration once world size and data are known.
struct RunPlan {
  std::size_t world = 1;
  std::size_t micro_batches = 1;
  std::size_t global_batch = 1;  ///< samples per optimizer step, all ranks and micro-batches
  SamplerOptions sampler;
  ScheduleOptions schedule;

  /// The limit of each rank, as far as its memory is known to be one; empty: none is known.
  std::vector<std::size_t> most_samples;

  /// Samples of the largest micro-batch of a full step if all ranks have equal
  /// parts. Evaluation and messages go by it.
  std::size_t largest_micro_batch() const noexcept {
    return even_split(global_batch, sampler.parts, 0).size();
  }
  /// Samples of the largest micro-batch of `rank` in a full step, with its part.
  std::size_t largest_micro_batch(std::size_t rank) const noexcept {
    return sampler.part_of(global_batch, virtual_rank(rank, 0)).size();
  }
  /// Samples of the largest micro-batch that any rank has in a full step.
  std::size_t largest_micro_batch_of_all() const noexcept;
  /// Samples of each rank in a full step.
  std::vector<std::size_t> rank_batches() const;
  /// Samples of `rank` in a step of `step_samples`, all its micro-batches together.
  std::size_t rank_samples(std::size_t step_samples, std::size_t rank) const noexcept;
  std::size_t virtual_rank(std::size_t rank, std::size_t micro_batch) const noexcept {
    return rank * micro_batches + micro_batch;
  }
};

/// `parts`: with --balance speed, in which proportions the ranks share a global
/// batch; empty: equally. Throws InputError where the data does not suffice for the ranks.
RunPlan plan_run(const TrainConfig& config, std::size_t world, std::size_t train_images,
                 const std::vector<double>& parts = {});

/// A warning where the learning rate is scaled by a global batch that no step has; empty: none.
std::string remark_on_rate(const TrainConfig& config, const RunPlan& plan);

/// Sizes of every micro-batch that `rank` will train on, without repeats.
std::vector<std::size_t> micro_batch_sizes(const RunPlan& plan, const Sampler& sampler,
                                           std::size_t rank);

/// How one rank walks through its share of the test set, batch by batch.
struct EvaluationPlan {
  Range share;
  std::size_t batch = 1;
  std::vector<std::size_t> batch_sizes() const;
};
/// Ranks share whole batches of at most 256 images (more at once is no faster,
/// and leaves ranks without work), in the proportions of `shares`; empty: equally.
/// So an image has the same neighbours on any number of ranks, and its result
/// the same bits.
EvaluationPlan plan_evaluation(std::size_t test_images, std::size_t world, std::size_t rank,
                               std::size_t batch, const std::vector<std::size_t>& shares = {});

/// The memory of training: the replica's own with velocities added, partial
/// sums over `micro_batches`, `message_floats` of the all-reduce's receive
/// buffer, and `image_bytes` of resident images.
MemoryNeed training_memory(MemoryNeed replica, const Graph& graph, std::size_t micro_batches,
                           std::size_t message_floats, std::size_t image_bytes = 0);

/// The memory that a plain training run of one of `ranks` ranks holds on the device,
/// planned anew on a backend of which nothing is in use: `batch` images to
/// train on and the same to evaluate, all of CIFAR-10 where images are
/// resident, gradients summed by the ring.
MemoryNeed usual_training_memory(const Graph& graph, Backend& backend, std::size_t batch, int ranks,
                                 Recompute recompute = Recompute::none);

/// The largest batch whose need is at most `bytes`, 0 if not even 1 fits, at
/// most `most`. `need` grows with the batch, nearly linearly: that makes the
/// search short.
std::size_t largest_batch(std::size_t bytes, std::size_t most,
                          const std::function<MemoryNeed(std::size_t batch)>& need);

}  // namespace rueda
