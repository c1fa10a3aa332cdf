#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "rueda/backend/replica.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_plan.hpp"
#include "rueda/train/run_record.hpp"
#include "step_checks.hpp"
#include "train_input.hpp"

namespace rueda {

/// Scores the replicas on the test images: each rank its share, without augmentation, with running
/// statistics. Everything given to it outlives it.
class Evaluator {
 public:
  Evaluator(const TrainConfig& config, const RunPlan& plan, RankGroup& group, Replica& replica,
            const ImageSet& test)
      : config_(config),
        group_(group),
        replica_(replica),
        plan_(plan_evaluation(test.size(), plan.world, std::size_t(group.rank()),
                              plan.largest_micro_batch())),
        images_(test.size()),
        held_(replica.backend().hold(test)),
        transform_(pixel_transform(config)) {
    transform_.augment = false;
  }

  /// Whether there is an evaluation after this epoch, the first being 1.
  bool due(std::size_t epoch) const {
    if (config_.eval_every == 0 || images_ == 0) return false;
    return epoch % config_.eval_every == 0 || epoch == config_.epochs;
  }

  /// Collective. Throws RunError, alike on every rank, if a loss is not finite.
  Score score() {
    const Stopwatch watch;
    Totals mine;
    for (std::size_t begin = plan_.share.begin; begin < plan_.share.end;) {
      const std::size_t end = std::min(begin + plan_.batch, plan_.share.end);
      const LossSums sums = score_batch(begin, end);
      mine += {sums.loss, sums.correct, double(end - begin)};
      begin = end;
    }
    stop_unless_finite(group_, std::isfinite(mine.loss), "the test loss is NaN or infinite");
    Totals all;  // added in the order of ranks, so that all ranks get the same bits
    for (const Totals& one : all_gather(group_, mine)) all += one;
    return all.score(watch.seconds());
  }

 private:
  LossSums score_batch(std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> indices(end - begin);
    std::iota(indices.begin(), indices.end(), std::uint32_t(begin));
    return replica_.infer({held_.get(), {indices, transform_, config_.seed, 0}});
  }

  const TrainConfig& config_;
  RankGroup& group_;
  Replica& replica_;
  EvaluationPlan plan_;
  std::size_t images_;
  std::unique_ptr<DeviceImages> held_;
  kernels::PixelTransform transform_;
};

}  // namespace rueda
