#pragma once

#include <cstddef>
#include <vector>

#include "predict/all_reduce_cost.hpp"
#include "predict/bucket_schedule.hpp"
#include "predict/compute_fit.hpp"
#include "predict/distribution.hpp"
#include "predict/machine.hpp"

namespace rueda::predict {

/// All that is known of a machine and a network on it.
struct CostModel {
  ComputeModel compute;
  Machine machine;
  Distribution noise{1};     ///< of a rank's step without waiting, beside its mean
  double message_noise = 0;  ///< of messages, see RingSimulation
  std::vector<Bucket> buckets;
};

/// What is to be predicted.
struct Scenario {
  std::size_t ranks = 1;
  std::size_t global_batch = 1;  ///< images of a full step
  std::size_t images = 1;        ///< of an epoch
  std::size_t micro_batches = 1;
  Scheme scheme = Scheme::ring;
  bool overlap = false;
  /// By what share the messages of a sum take longer because they are noisy (simulate_ring()).
  double message_delay = 0;
};

/// Where a step goes; seconds. The four parts add up to it.
struct StepForecast {
  double compute = 0;     ///< forward, loss, backward of a mean rank
  double rest = 0;        ///< input, optimizer, bookkeeping
  double straggling = 0;  ///< by how much the slowest rank is later than the mean one
  double exposed = 0;     ///< communication that is not hidden
  double all_reduce = 0;  ///< communication, hidden or not
  double seconds() const noexcept { return compute + rest + straggling + exposed; }
};

struct EpochForecast {
  Scenario scenario;
  std::size_t full_steps = 0;
  std::size_t partial_images = 0;  ///< of the last step, 0: it is full
  StepForecast full;               ///< of a full step; of the only one where there is none
  StepForecast partial;            ///< all 0 without one
  double seconds = 0;

  std::size_t steps() const noexcept { return full_steps + (partial_images > 0 ? 1 : 0); }
  double images_per_second() const noexcept {
    return static_cast<double>(scenario.images) / seconds;
  }
};

/// A step of `images` images over all ranks. Each rank has as many as even_split gives the largest.
StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images);
/// An epoch: full steps, then a partial one with what is left.
EpochForecast forecast_epoch(const CostModel& model, const Scenario& scenario);

}  // namespace rueda::predict
