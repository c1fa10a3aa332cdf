#include "train/epoch_end.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "train/balance.hpp"
#include "train/checks/divergence.hpp"
#include "train/noise_scale.hpp"
#include "train/schedule.hpp"

namespace rueda {

bool reached_target(const TrainingConfig& config, const RunRecord& run) {
  if (!config.target_accuracy || run.epochs.empty()) return false;
  const EpochRecord& last = run.epochs.back();
  const std::optional<Score> score = config.eval_every != 0 ? last.test : last.train;
  return score && score->accuracy >= *config.target_accuracy;
}

EpochEnd::EpochEnd(const TrainerParts& parts, ReplicaCheck& check, StepRecorder& recorder)
    : parts_(parts), config_(parts.config), plan_(parts.plan), check_(check), recorder_(recorder) {
  take_plan();
  if (!parts.resumes) return;
  resumed_at_ = parts.from.steps;
  if (parts.from.steps > 0) earlier_ = parts.from.seconds;
}

void EpochEnd::take_plan() {
  evaluator_.emplace(parts_.group, parts_.replica, parts_.data.test, config_,
                     plan_.largest_micro_batch(), plan_.sampler.shares);
}

void EpochEnd::finish(RunRecord& run, TrainPosition& position) {
  EpochRecord epoch = record(position);
  warn_of_divergence(run, epoch);
  recorder_.gather(run, epoch);
  epoch.bookkeeping_seconds = bookkeeping_seconds(epoch, position.seconds);
  double spent = position.spent + epoch.seconds;
  if (epoch.test) spent += epoch.test->seconds;
  position = {.epochs = epoch.epoch, .spent = spent, .shares = position.shares};
  run.epochs.push_back(std::move(epoch));
  note_target(run, position);
  if (!is_over(run, position)) position.shares = next_shares(position);
  run.total_seconds = run.earlier_seconds + parts_.since_start.seconds();
  together(parts_.group, [&] {
    if (config_.output.profile_layers && run.profile.batch == 0)
      run.profile = parts_.replica.profiled();
    parts_.observer.on_epoch(run);
  });
}

double EpochEnd::bookkeeping_seconds(const EpochRecord& epoch, double steps) {
  const double now = parts_.since_start.seconds();
  double other = steps - std::exchange(earlier_, 0);
  if (epoch.test) other += epoch.test->seconds;
  return std::max(0.0, now - std::exchange(noted_, now) - other);
}

EpochRecord EpochEnd::record(const TrainPosition& position) {
  EpochRecord record;
  record.seconds = max_over_ranks(parts_.group, position.seconds);
  recorder_.close_epoch();
  record.epoch = position.epochs + 1;
  record.steps = plan_.schedule.steps_per_epoch;
  record.ranks = plan_.world;
  record.rank_batches = plan_.rank_batches();
  record.resumed_at_step = std::exchange(resumed_at_, std::nullopt);
  record.gradient_noise = noise_of(recorder_.steps(), plan_);
  record.train = position.so_far.score(record.seconds);
  record.images_per_second = position.so_far.samples / record.seconds;
  record.learning_rate = learning_rate(plan_.schedule, record.epoch * record.steps - 1);
  record.parameter_hash =
      check_.check_parameters(position, "after epoch " + std::to_string(record.epoch));
  if (evaluator_->due(record.epoch)) record.test = evaluator_->score(nullptr, &parts_.observer);
  return record;
}

/// Once, at the first epoch: NaN may come much later, or never.
void EpochEnd::warn_of_divergence(const RunRecord& run, const EpochRecord& record) const {
  const std::size_t classes = parts_.data.class_names.size();
  if (!has_diverged(record, classes) || ended_diverged(std::span(run.epochs), classes)) return;
  log(LogLevel::warn,
      fmt::format("training diverges: the loss of epoch {} is {:.4g}, and guessing "
                  "one of {} classes has {:.4g}: {}",
                  record.epoch, record.train.loss, classes, guessing_loss(classes), kWhereTrained));
}

std::vector<std::size_t> EpochEnd::next_shares(const TrainPosition& position) const {
  if (!config_.batch.balance.by_speed) return position.shares;
  const auto costs = all_gather(parts_.group, recorder_.cost());
  const std::vector<std::size_t> now = plan_.rank_batches();
  std::vector<std::size_t> next = steadily_rebalanced_images(costs, now, plan_.most_samples);
  if (next == now) return position.shares;
  log(LogLevel::info, fmt::format("images per rank from epoch {} on: {}, before {} (--balance "
                                  "speed)",
                                  position.epochs + 1, images_text(next), images_text(now)));
  return next;
}

bool EpochEnd::is_over(const RunRecord& run, const TrainPosition& position) const {
  return run.seconds_to_target || position.epochs >= config_.training.epochs;
}

void EpochEnd::note_target(RunRecord& run, const TrainPosition& position) const {
  if (reached_target(config_.training, run)) run.seconds_to_target = position.spent;
}

}  // namespace rueda
