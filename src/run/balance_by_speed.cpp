#include "run/balance_by_speed.hpp"

#include <span>

#include <fmt/format.h>

#include "base/log.hpp"
#include "run/trial_passes.hpp"
#include "train/balance.hpp"

namespace rueda {
namespace {

// Long enough for several periods of a control group's quota, which is 0.1 s.
constexpr TrialLength kTrial = {.passes = 5, .seconds = 1};
constexpr std::size_t kWarmUp = 2;  // passes

double seconds_of(const ComputeSeconds& s) { return s.load + s.forward + s.loss + s.backward; }

/// The mean, because a quota stops some passes and not others.
double image_seconds(const std::vector<ComputeSeconds>& passes, std::size_t images) {
  double seconds = 0;
  const auto warm = std::span(passes).subspan(kWarmUp);
  for (const ComputeSeconds& pass : warm) seconds += seconds_of(pass);
  return seconds / double(warm.size()) / double(images);
}

}  // namespace

std::vector<std::size_t> measure_shares(RankGroup& group, const RunPlan& plan, const ImageSet& set,
                                        int side, Replica& replica) {
  const std::size_t images = plan.largest_micro_batch(std::size_t(group.rank()));
  RankCost mine;
  group.barrier();
  together(group, [&] {
    mine.per_image = image_seconds(trial_passes(set, images, side, replica, kTrial), images);
  });
  const std::vector<RankCost> costs = all_gather(group, mine);
  const std::vector<std::size_t> now = plan.rank_batches();
  std::vector<std::size_t> shares = rebalanced_images(costs, now, plan.most_samples);
  std::string change = "others would not shorten a step by 5 %";
  if (shares != now) change = "before " + images_text(now);
  log(LogLevel::info,
      fmt::format("images per rank: {}, {} (--balance speed)", images_text(shares), change));
  return shares;
}

}  // namespace rueda
