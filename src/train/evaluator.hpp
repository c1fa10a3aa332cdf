#pragma once

#include <cstddef>
#include <memory>

#include "rueda/backend/replica.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_plan.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Scores the replicas on the test images: each rank its share, without augmentation, with running
/// statistics. Everything given to it outlives it.
class Evaluator {
 public:
  Evaluator(const TrainConfig& config, const RunPlan& plan, RankGroup& group, Replica& replica,
            const ImageSet& test);

  /// Whether there is an evaluation after this epoch, the first being 1.
  bool due(std::size_t epoch) const;
  /// Collective. Throws RunError, alike on every rank, if a loss is not finite.
  Score score();

 private:
  LossSums score_batch(std::size_t begin, std::size_t end);

  const TrainConfig& config_;
  RankGroup& group_;
  Replica& replica_;
  EvaluationPlan plan_;
  std::size_t images_;
  std::unique_ptr<DeviceImages> held_;
  kernels::PixelTransform transform_;
};

}  // namespace rueda
