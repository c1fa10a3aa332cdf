#include "target.hpp"

namespace rueda {

bool reaches_target(const TrainConfig& config, const EpochRecord& epoch) {
  if (!config.target_accuracy) return false;
  if (config.eval_every != 0) return epoch.test && epoch.test->accuracy >= *config.target_accuracy;
  return epoch.train.accuracy >= *config.target_accuracy;
}

}  // namespace rueda
