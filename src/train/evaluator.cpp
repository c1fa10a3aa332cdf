#include "train/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/checks/step_checks.hpp"
#include "train/train_input.hpp"

namespace rueda {

Evaluator::Evaluator(RankGroup& group, Replica& replica, const ImageSet& images,
                     const TrainConfig& config, std::size_t batch,
                     const std::vector<std::size_t>& shares)
    : group_(group),
      replica_(replica),
      config_(config),
      images_(images.size()),
      plan_(plan_evaluation(images_, std::size_t(group.size()), std::size_t(group.rank()), batch,
                            shares)),
      held_(replica.backend().hold(images)),
      transform_(pixel_transform(config)) {
  transform_.augment = false;
}

bool Evaluator::due(std::size_t epoch) const {
  if (config_.training.eval_every == 0 || images_ == 0) return false;
  return epoch % config_.training.eval_every == 0 || epoch == config_.training.epochs;
}

Score Evaluator::score(std::vector<float>* logits, TrainObserver* observer) {
  const Stopwatch watch;
  std::vector<Totals> mine;  // by batch
  std::size_t kept = 0;      // numbers of an image
  if (logits != nullptr) kept = std::size_t(replica_.graph().classes());
  std::vector<float> values(plan_.share.size() * kept);
  std::span<float> rest = values;
  for (std::size_t begin = plan_.share.begin; begin < plan_.share.end;) {
    if (observer != nullptr)
      observer->on_evaluation(begin - plan_.share.begin, plan_.share.size(), watch.seconds());
    std::vector<std::uint32_t> indices(std::min(plan_.batch, plan_.share.end - begin));
    std::iota(indices.begin(), indices.end(), std::uint32_t(begin));
    const BatchChoice choice{indices, transform_, config_.training.seed, 0};
    const auto of_batch = rest.first(indices.size() * kept);
    const LossSums sums = replica_.infer({held_.get(), choice}, of_batch);
    mine.push_back({sums.loss, sums.correct, double(indices.size())});
    rest = rest.subspan(of_batch.size());
    begin += indices.size();
  }
  const bool finite = std::ranges::all_of(mine, [](auto& t) { return std::isfinite(t.loss); });
  const bool trains = logits == nullptr;
  stop_unless_finite(group_, finite, "the test loss is NaN or infinite",
                     trains ? kWhereTrained : kWhereScored);
  Totals all;  // added in the order of the images, so that no bit depends on how ranks share them
  for (const auto& of_rank : from_bytes<Totals>(group_.all_gather(std::as_bytes(std::span(mine)))))
    for (const Totals& batch : of_rank) all += batch;
  const Score score = all.score(watch.seconds());
  if (logits == nullptr) return score;
  for (const auto& of_rank : from_bytes<float>(group_.gather(std::as_bytes(std::span(values)), 0)))
    logits->insert(logits->end(), of_rank.begin(), of_rank.end());
  return score;
}

}  // namespace rueda
