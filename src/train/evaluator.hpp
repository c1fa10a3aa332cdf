#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/trainer.hpp"
#include "step_checks.hpp"
#include "train_input.hpp"

namespace rueda {

/// Scores the replicas on the test images: each rank its share, without
/// augmentation, with running statistics.
class Evaluator {
 public:
  /// Keeps `parts`.
  explicit Evaluator(const TrainerParts& parts)
      : parts_(parts),
        plan_(plan_evaluation(parts.data.test.size(), parts.plan.world, parts.rank(),
                              parts.plan.largest_micro_batch())),
        held_(parts.replica.backend().hold(parts.data.test)),
        transform_(pixel_transform(parts.config)) {
    transform_.augment = false;
  }

  /// Whether there is an evaluation after this epoch, the first being 1.
  bool due(std::size_t epoch) const {
    const TrainConfig& config = parts_.config;
    if (config.eval_every == 0 || parts_.data.test.size() == 0) return false;
    return epoch % config.eval_every == 0 || epoch == config.epochs;
  }

  /// Collective. Throws RunError, alike on every rank, if a loss is not finite.
  Score score() {
    const Stopwatch watch;
    Totals mine;
    for (std::size_t begin = plan_.share.begin; begin < plan_.share.end;) {
      const std::size_t end = std::min(begin + plan_.batch, plan_.share.end);
      std::vector<std::uint32_t> indices(end - begin);
      std::iota(indices.begin(), indices.end(), std::uint32_t(begin));
      const BatchChoice choice{indices, transform_, parts_.config.seed, 0};
      const LossSums sums = parts_.replica.infer({held_.get(), choice});
      mine += {sums.loss, sums.correct, double(end - begin)};
      begin = end;
    }
    stop_unless_finite(parts_.group, std::isfinite(mine.loss), "the test loss is NaN or infinite");
    Totals all;  // added in the order of ranks, so that all ranks get the same bits
    for (const Totals& one : all_gather(parts_.group, mine)) all += one;
    return all.score(watch.seconds());
  }

 private:
  const TrainerParts& parts_;
  EvaluationPlan plan_;
  std::unique_ptr<DeviceImages> held_;
  kernels::PixelTransform transform_;
};

}  // namespace rueda
