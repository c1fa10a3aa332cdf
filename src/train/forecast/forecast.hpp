#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/bucket_schedule.hpp"
#include "reduce/cost_model.hpp"
#include "train/forecast/distribution.hpp"

namespace rueda::cost {

/// Where a rank's time goes in a step, but for communication.
struct ComputeModel {
  double fixed = 0;      ///< t0: seconds of forward, loss and backward, whatever the batch
  double per_image = 0;  ///< t1: seconds of these for each image
  double backward_share = 2.0 / 3;  ///< of these, backward's
  double input_per_image = 0;       ///< load and copy
  double update = 0;                ///< optimizer and other: seconds of a step

  double compute_seconds(double images) const noexcept { return fixed + per_image * images; }
};

/// All that is known of a machine and a network on it.
struct CostModel {
  ComputeModel compute;
  Machine machine;
  Distribution noise{1};     ///< of a rank's step without waiting, relative to its mean
  double message_noise = 0;  ///< of messages, see RingSimulation
  /// Times of ranks that are not equally fast, relative to what `compute` says, ascending: so
  /// frequent are they on any number of ranks. Empty: ranks are alike.
  std::vector<double> rank_factors;
  std::vector<Bucket> buckets;
  bool shares_by_speed = false;  ///< whether ranks have parts of a batch by their speed
};

/// What is to be predicted.
struct Scenario {
  std::size_t ranks = 1;
  std::size_t global_batch = 1;  ///< images of a full step
  std::size_t images = 1;        ///< of an epoch
  std::size_t micro_batches = 1;
  Scheme scheme = Scheme::ring;
  bool overlap = false;
  /// Images of each rank in a full step; empty: equal, or by speed. The fastest rank has most.
  std::vector<std::size_t> parts = {};
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
  StepForecast full = {};          ///< of a full step; of the only one where there is none
  StepForecast partial = {};       ///< all 0 without one
  double seconds = 0;

  std::size_t steps() const noexcept { return full_steps + (partial_images > 0 ? 1 : 0); }
  double images_per_second() const noexcept { return double(scenario.images) / seconds; }
};

/// A step of `images` images over all ranks. Where ranks are alike, each has as many as even_split
/// gives the largest. Else each has its part, and parts by speed are those that training would
/// give (balanced_images). One rank alone is the middle one, or with parts by speed one of mean
/// speed.
StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images);
/// An epoch: full steps, then a partial one with what is left.
EpochForecast forecast_epoch(const CostModel& model, const Scenario& scenario);

/// One sum on a noisy ring, and the closed form; seconds.
struct SimulatedSum {
  std::size_t ranks = 1;
  double bytes = 0;
  double closed = 0;      ///< by the closed form
  double quiet = 0;       ///< simulated without noise
  double noisy = 0;       ///< simulated, mean over rings
  std::size_t rings = 0;  ///< with noise

  /// By what share messages took longer than without noise; 0 on one rank.
  /// `gamma`: seconds for each byte added, which no noise prolongs.
  double delay(double gamma) const noexcept;
};

/// The largest bucket of the model on a ring whose every link is as slow as the
/// slowest. Small rings are simulated up to 1000 times, large ones once.
SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed);

}  // namespace rueda::cost
