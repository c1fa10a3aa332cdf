#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/trainer.hpp"
#include "train/checks/step_checks.hpp"
#include "train/run_plan.hpp"
#include "train/train_input.hpp"

namespace rueda {

/// Scores the replicas on the test images: each rank its batches, without
/// augmentation, with running statistics.
class Evaluator {
 public:
  /// Keeps the references. `batch`: images at once, which the replica has planned
  /// (plan_evaluation, with these shares).
  Evaluator(RankGroup& group, Replica& replica, const ImageSet& images, const TrainConfig& config,
            std::size_t batch, const std::vector<std::size_t>& shares = {});

  /// Whether there is an evaluation after this epoch, the first being 1.
  bool due(std::size_t epoch) const;

  /// Collective. With `logits`, on all ranks, rank 0 gets those of all images in their order.
  /// Throws RunError, alike on every rank, if a loss is not finite.
  Score score(std::vector<float>* logits, TrainObserver* observer);

 private:
  RankGroup& group_;
  Replica& replica_;
  const TrainConfig& config_;
  std::size_t images_;
  EvaluationPlan plan_;
  std::unique_ptr<DeviceImages> held_;
  kernels::PixelTransform transform_;
};

}  // namespace rueda
