#include "evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "rueda/train/phase_timer.hpp"
#include "rueda/train/position.hpp"
#include "step_checks.hpp"
#include "train_input.hpp"

namespace rueda {

Evaluator::Evaluator(const TrainConfig& config, const RunPlan& plan, RankGroup& group,
                     Replica& replica, const ImageSet& test)
    : config_(config),
      group_(group),
      replica_(replica),
      plan_(plan_evaluation(test.size(), plan.world, static_cast<std::size_t>(group.rank()),
                            plan.largest_micro_batch())),
      images_(test.size()),
      held_(replica.backend().hold(test)),
      transform_(pixel_transform(config)) {
  transform_.augment = false;
}

bool Evaluator::due(std::size_t epoch) const {
  if (config_.eval_every == 0 || images_ == 0) return false;
  return epoch % config_.eval_every == 0 || epoch == config_.epochs;
}

LossSums Evaluator::score_batch(std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> indices(end - begin);
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  return replica_.infer({held_.get(), {indices, transform_, config_.seed, 0}});
}

Score Evaluator::score() {
  const Stopwatch watch;
  Totals mine;
  for (std::size_t begin = plan_.share.begin; begin < plan_.share.end;) {
    const std::size_t end = std::min(begin + plan_.batch, plan_.share.end);
    const LossSums sums = score_batch(begin, end);
    mine.loss += static_cast<double>(sums.loss);
    mine.correct += static_cast<double>(sums.correct);
    mine.samples += static_cast<double>(end - begin);
    begin = end;
  }
  stop_unless_finite(group_, std::isfinite(mine.loss), "the test loss is NaN or infinite");
  return sum_over_ranks(group_, mine).score(watch.seconds());
}

Score Totals::score(double seconds) const {
  return {.loss = loss / samples,
          .accuracy = correct / samples,
          .samples = static_cast<std::size_t>(samples),
          .seconds = seconds};
}

Totals sum_over_ranks(RankGroup& group, const Totals& mine) {
  Totals sum;
  for (const Totals& one : all_gather(group, mine)) {
    sum.loss += one.loss;
    sum.correct += one.correct;
    sum.samples += one.samples;
  }
  return sum;
}

}  // namespace rueda
