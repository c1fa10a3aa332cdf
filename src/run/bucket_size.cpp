#include "run/bucket_size.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/clock.hpp"
#include "base/statistics.hpp"
#include "reduce/reduce_journal.hpp"
#include "run/trial_passes.hpp"
#include "train/forecast/forecast.hpp"

namespace rueda {
namespace {

/// Seconds of a backward pass over `count` images: the least of three.
double backward_seconds(const ImageSet& set, std::size_t count, int side, Replica& replica) {
  double least = std::numeric_limits<double>::infinity();
  for (const ComputeSeconds& pass : trial_passes(set, count, side, replica, {.passes = 3}))
    least = std::min(least, pass.backward);
  if (count == 0) return 0;
  return least;
}

/// Collective: what a sum costs, by the medians of two lengths. The first sum of each opens
/// connections.
cost::Link sum_cost(RankGroup& group, Replica& replica, AllReduce& all_reduce) {
  constexpr int kSums = 5;
  ReduceJournal unread;
  std::vector<cost::TimedSum> sums;
  for (const std::size_t most : {std::size_t{1} << 17, std::size_t{1} << 20}) {
    const auto slice = replica.gradients().first(std::min(most, replica.gradients().size()));
    std::vector<double> seconds;
    for (int i = 0; i <= kSums; ++i) {
      group.barrier();
      const Stopwatch watch;
      replica.backend().reduce_device().wait(all_reduce.sum(slice, {}, unread));
      seconds.push_back(max_over_ranks(group, watch.seconds()));
    }
    seconds.erase(seconds.begin());
    sums.push_back({double(slice.size_bytes()), median_of(seconds)});
  }
  return cost::link_through(sums.front(), sums.back());
}

}  // namespace

void settle_buckets(RankGroup& group, const TrainConfig& config,
                    const std::optional<TimedCompute>& timed, const RunPlan& plan,
                    const ImageSet& images, Replica& replica, GradientSums& sums) {
  const std::size_t count =
      plan.rank_samples(std::min(plan.global_batch, images.size()), std::size_t(group.rank()));
  double backward = 0;
  together(group, [&] {
    if (timed)
      backward = timed->seconds * cost::ComputeModel().backward_share;
    else
      backward = backward_seconds(images, count, config.model.image_size, replica);
  });
  backward = max_over_ranks(group, backward);
  const cost::Link sum = sum_cost(group, replica, *sums.all_reduce);
  const double mb = cost::choose_bucket_mb(replica.graph(), sum, backward);
  // Ranks may differ in the last bits.
  cut_buckets(sums, all_gather(group, mb).front(), config, replica.graph(), group.size());
}

}  // namespace rueda
