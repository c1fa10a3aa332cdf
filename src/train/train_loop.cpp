#include "train/train_loop.hpp"

#include <algorithm>
#include <span>

#include "backend/named_range.hpp"
#include "base/computing.hpp"
#include "train/noise_scale.hpp"
#include "train/schedule.hpp"

namespace rueda {

TrainLoop::TrainLoop(const TrainerParts& parts)
    : parts_(parts),
      config_(parts.config),
      plan_(parts.plan),
      replica_(parts.replica),
      sampler_(plan_.sampler),
      optimizer_(replica_.backend(), replica_.parameters(), config_.optimizer, replica_.graph()),
      accumulator_(replica_.backend(), replica_.computed().size(), plan_.micro_batches),
      check_(parts.group, replica_, config_.checks.replicas),
      noise_interval_(noise_interval(config_, replica_.backend().name())),
      update_alone_(parts.group.size() == 1 && plan_.micro_batches == 1 &&
                    config_.optimizer.optimizer == OptimizerChoice::sgd),
      position_(parts.from),
      input_(make_train_input(parts_, sampler_, config_.data.input, position_)),
      recorder_(parts_),
      epoch_end_(parts_, check_, recorder_) {
  position_.shares = plan_.sampler.shares;
}

void TrainLoop::run(RunRecord& run) {
  epoch_end_.begin();
  // Shows that the broadcast arrived, and gives the first step's check something to compare with.
  check_.compare("before the first step");
  epoch_end_.note_target(run, position_);  // an earlier process may have reached it
  audit_.emplace(parts_, sampler_, *input_, timer(), run);
  while (!is_over(run) && train_epoch(run)) finish_epoch(run);
  run.outcome = "stopped";
  if (is_over(run)) run.outcome = "completed";
  if (run.seconds_to_target) run.outcome = "target reached";
}

bool TrainLoop::train_epoch(const RunRecord& run) {
  sampler_.set_epoch(position_.epochs);
  recorder_.open_epoch();
  const NamedRange range(replica_.backend(), "epoch " + std::to_string(epoch()));
  watch_ = Stopwatch();
  while (position_.steps < sampler_.steps_per_epoch()) {
    train_step(position_.steps + 1);
    if (stops_ || saves_after(position_.steps)) save_within_epoch(run);
    if (stops_) return false;
  }
  parts_.group.barrier();
  return true;
}

void TrainLoop::train_step(std::size_t step) {
  const NamedRange range(replica_.backend(), "step " + std::to_string(step));
  const Computing computing("a training step");
  begin_step(step);
  run_micro_batches(step);
  reduce_and_update(step);
  finish_step(step);
  record_step(step);
}

void TrainLoop::begin_step(std::size_t step) {
  inject_fault(config_.checks.fault, parts_.rank(), global_step(step), replica_);
  if (parts_.stop_requested()) replica_.ask_to_stop();
  recorder_.begin_step(global_step(step));
  replica_.measure_norms(noise_interval_ > 0 && global_step(step) % noise_interval_ == 0);
  replica_.write_slot(RankSlots(plan_.world).slot_of(parts_.rank()), recorder_.last_times().phases);
}

void TrainLoop::run_micro_batches(std::size_t step) {
  // The all-reduce only sums, so the loss is divided by the samples of all ranks before.
  const float scale = 1.0F / float(sampler_.step_samples(step - 1));
  const bool audited = audit_->due(global_step(step));
  replica_.leave_gradients(update_alone_ && !audited);
  // Before the reducer begins, because the audit uses the arena and MPI.
  if (audited) {
    audit_->begin(global_step(step), position_.epochs, step - 1, scale);
    compute_micro_batches(step, scale);
    audit_->compare(in_words(step));
  }
  // Only a single micro-batch's gradients are final when backward announces them.
  parts_.reducer.begin(global_step(step), plan_.micro_batches == 1 && !audited);
  if (!audited) compute_micro_batches(step, scale);
  parts_.reducer.complete();
}

void TrainLoop::compute_micro_batches(std::size_t step, float scale) {
  for (std::size_t k = 0; k < plan_.micro_batches; ++k) {
    input_->load({position_.epochs, step - 1, plan_.virtual_rank(parts_.rank(), k)}, timer());
    timer().enter(Phase::forward);
    const bool audited = k == audit_->micro_batch();
    inject_flip(config_, parts_.rank(), global_step(step), audited, replica_);
    Backend& backend = replica_.backend();
    const CoreTime before = backend.core_time();
    recorder_.divide(replica_.compute(scale, profiles(step)), input_->device_phase());
    recorder_.computed(backend.core_time() - before);
    if (audited) audit_->computed();
    replica_.disturb({});
    accumulator_.push(replica_.computed());
  }
  accumulator_.finish(replica_.computed());
}

/// One update for all buckets that are summed: on a GPU each costs a launch. With one rank, all are
/// at once.
void TrainLoop::reduce_and_update(std::size_t step) {
  check_.before_update();
  GradientReducer& reducer = parts_.reducer;
  const std::size_t parameters = replica_.parameters().size();
  const double rate = rate_of(step);
  const bool alone = parts_.group.size() == 1;
  for (std::size_t first = 0, summed = 0; first < reducer.buckets(); first = summed) {
    timer().enter(Phase::all_reduce);
    summed = reducer.wait(first);
    while (alone && summed < reducer.buckets()) summed = reducer.wait(summed);
    timer().enter(Phase::optimizer);
    const Range range{reducer.bucket(first).begin,
                      std::min(reducer.bucket(summed - 1).end, parameters)};
    if (range.begin >= parameters) continue;
    replica_.sum_squares(range);
    optimizer_.update(cut(replica_.parameters(), range), cut(replica_.gradients(), range),
                      range.begin, rate);
  }
  reducer.end();
}

void TrainLoop::finish_step(std::size_t step) {
  if (unsettled_) settle();  // the step before
  timer().enter(Phase::optimizer);
  const bool there = replica_.read_step_sums();
  replica_.update_running_statistics(float(sampler_.step_samples(step - 1)));
  replica_.parameters_updated();
  const bool last = step == sampler_.steps_per_epoch();
  unsettled_ = !(there || last || stops_ || saves_after(step) || check_.every_step());
  if (!unsettled_) replica_.backend().finish();
  position_.steps = step;
  position_.seconds += watch_.lap();
  if (!unsettled_) settle();
  timer().enter(Phase::other);
  if (check_.every_step()) check_.compare("after " + in_words(step));
}

void TrainLoop::settle() {
  timer().enter(Phase::other);
  const StepSums& sums = replica_.step_sums();
  if (sums.nonfinite != 0.0F) {
    stop_unless_finite(parts_.group, replica_.was_finite(),
                       "the loss, a batch statistic or a gradient's norm is NaN or infinite at " +
                           in_words(position_.steps));
  }
  stops_ = sums.stop > 0;
  position_.so_far += {sums.loss, sums.correct, sums.samples};
  recorder_.score(sums, replica_.gradient_norm2());
  const auto* times = reinterpret_cast<const RankTimes*>(replica_.slots().data());
  parts_.observer.on_step(position_, {times, replica_.slots().size() / kSlotFloats});
}

void TrainLoop::record_step(std::size_t step) {
  const std::size_t samples = sampler_.step_samples(step - 1);
  recorder_.end_step({.epoch = std::uint32_t(epoch()),
                      .step = std::uint32_t(step),
                      .samples = std::uint32_t(plan_.rank_samples(samples, parts_.rank())),
                      .global_samples = std::uint32_t(samples),
                      .learning_rate = rate_of(step)},
                     input_->take_busy());
}

void TrainLoop::finish_epoch(RunRecord& run) {
  position_.seconds += watch_.seconds();
  epoch_end_.finish(run, position_);
  const CheckpointEvery& every = config_.checkpoints.every;
  // A resumed run has left a checkpoint that is older than its end: started again, it would train
  // once more from there.
  const bool leaves_some = every.count > 0 || !run.resumptions.empty();
  if (every.due(CheckpointEvery::Unit::epochs, position_.epochs) || (is_over(run) && leaves_some))
    parts_.save(position_, velocities());
  if (position_.shares != plan_.sampler.shares) refit(run);
}

/// What the input and the evaluation hold on the device makes room first.
void TrainLoop::refit(RunRecord& run) {
  audit_.reset();
  input_.reset();
  epoch_end_.forget_plan();
  parts_.refit(position_.shares);
  position_.shares = plan_.sampler.shares;  // others than these did not fit
  sampler_ = Sampler(plan_.sampler);
  epoch_end_.take_plan();
  input_ = make_train_input(parts_, sampler_, config_.data.input, position_);
  audit_.emplace(parts_, sampler_, *input_, timer(), run);
}

void TrainLoop::save_within_epoch(const RunRecord& run) {
  check_.check_parameters(position_, "after " + in_words(position_.steps));
  position_.energy = recorder_.energy(run.ranks);
  parts_.save(position_, velocities());
  parts_.group.barrier();
  watch_ = Stopwatch();
}

bool TrainLoop::saves_after(std::size_t step) const {
  return config_.checkpoints.every.due(CheckpointEvery::Unit::steps, global_step(step));
}

std::size_t TrainLoop::global_step(std::size_t step) const {
  return position_.epochs * sampler_.steps_per_epoch() + step;
}

bool TrainLoop::profiles(std::size_t step) const {
  constexpr std::size_t kSteps = 5;
  return config_.output.profile_layers && position_.epochs == parts_.from.epochs && step > 1 &&
         step + kSteps > sampler_.steps_per_epoch();
}

double TrainLoop::rate_of(std::size_t step) const {
  return learning_rate(plan_.schedule, global_step(step) - 1);
}

std::string TrainLoop::in_words(std::size_t step) const { return step_in_words(epoch(), step); }

}  // namespace rueda
