#include "rueda/train/trainer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "epoch_book.hpp"
#include "fault.hpp"
#include "finite.hpp"
#include "rueda/backend/backend.hpp"
#include "target.hpp"

namespace rueda {
namespace {

/// Work that a device does in its own time, on the phases of a step. What it did for the input
/// while the host was already waiting for the rest counts for `input`.
PhaseSeconds compute_phases(const ComputeSeconds& seconds, Phase input) {
  PhaseSeconds phases{};
  const auto book = [&](Phase phase, double s) { phases[static_cast<std::size_t>(phase)] = s; };
  book(input, seconds.load);
  book(Phase::forward, seconds.forward);
  book(Phase::loss, seconds.loss);
  book(Phase::backward, seconds.backward);
  return phases;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts,
                 const TrainPosition& from)
    : config_(config),
      plan_(plan),
      parts_(parts),
      backend_(parts.replica.backend()),
      sampler_(plan.sampler),
      evaluator_(config, plan, parts.group, parts.replica, parts.data.test),
      optimizer_(backend_, parts.replica.parameters().size(),
                 {config.momentum, config.weight_decay, config.nesterov}),
      accumulator_(backend_, parts.replica.gradients().size(), plan.micro_batches),
      check_(parts.group, parts.replica),
      position_(from),
      input_(make_train_input({config, plan, static_cast<std::size_t>(parts.group.rank()),
                               parts.replica, parts.data.train, sampler_, from})),
      book_(std::make_unique<EpochBook>(parts.group, parts.watch)) {
  if (from.epochs > 0 || from.steps > 0) resumed_at_ = from.steps;
}

Trainer::~Trainer() = default;

void Trainer::run(RunRecord& run) {
  // Shows that the broadcast arrived, and gives the first step's check something to compare with.
  if (config_.check_replicas != CheckReplicas::off) check_.compare("before the first step");
  // An earlier process may have.
  bool reached = !run.epochs.empty() && reaches_target(config_, run.epochs.back());
  if (reached) run.seconds_to_target = position_.spent;
  while (!reached && position_.epochs < config_.epochs) {
    EpochRecord record;
    if (!train_epoch(run, record)) {
      run.outcome = "stopped";
      return;
    }
    reached = finish_epoch(run, std::move(record));
  }
  run.outcome = reached ? "target reached" : "completed";
}

bool Trainer::finish_epoch(RunRecord& run, EpochRecord record) {
  require_finite_parameters();
  if (evaluator_.due(record.epoch)) record.test = evaluator_.score();
  record.parameter_hash = config_.check_replicas == CheckReplicas::off
                              ? combined_hash(hash_replica(parts_.replica))
                              : check_.compare("after epoch " + std::to_string(record.epoch));
  book_->gather(run, record);
  const double spent = record.seconds + (record.test ? record.test->seconds : 0.0);
  position_ = {.epochs = record.epoch,
               .steps = 0,
               .so_far = {},
               .seconds = 0,
               .spent = position_.spent + spent};
  const bool reached = reaches_target(config_, record);
  run.epochs.push_back(std::move(record));
  if (reached) run.seconds_to_target = position_.spent;
  const bool last = reached || position_.epochs == config_.epochs;
  run.total_seconds = parts_.since_start.seconds();
  together(parts_.group, [&] { parts_.observer.on_epoch(run); });
  const CheckpointEvery& every = config_.checkpoint_every;
  const bool due = every.due(CheckpointEvery::Unit::epochs, position_.epochs);
  if (due || (last && every.count > 0)) save(run, position_);
  return reached;
}

bool Trainer::train_epoch(const RunRecord& run, EpochRecord& record) {
  sampler_.set_epoch(position_.epochs);
  record.resumed_at_step = std::exchange(resumed_at_, std::nullopt);
  book_->open();
  const NamedRange range(backend_, "epoch " + std::to_string(epoch()));
  if (!take_steps(run)) return false;
  parts_.group.barrier();
  record.seconds = seconds_so_far();
  book_->close();
  record.epoch = epoch();
  record.steps = sampler_.steps_per_epoch();
  record.ranks = plan_.world;
  record.train = position_.so_far.score(record.seconds);
  record.images_per_second = position_.so_far.samples / record.seconds;
  record.learning_rate = learning_rate(plan_.schedule, global_step(record.steps) - 1);
  return true;
}

/// Of this epoch, those of an earlier process included.
double Trainer::seconds_so_far() const { return position_.seconds + watch_.seconds() - paused_; }

/// Whether all steps were taken, and not only those until a rank asked to stop.
bool Trainer::take_steps(const RunRecord& run) {
  const CheckpointEvery& every = config_.checkpoint_every;
  watch_ = Stopwatch();
  paused_ = 0;
  for (std::size_t step = position_.steps + 1; step <= sampler_.steps_per_epoch(); ++step) {
    const StepSums sums = train_step(step);
    Totals& totals = position_.so_far;
    totals.loss += static_cast<double>(sums.loss);
    totals.correct += static_cast<double>(sums.correct);
    totals.samples += static_cast<double>(sums.samples);
    position_.steps = step;
    parts_.observer.on_step({.epoch = epoch(),
                             .step = step,
                             .images = static_cast<std::size_t>(totals.samples),
                             .loss = totals.loss / totals.samples,
                             .seconds = seconds_so_far()});
    const bool stops = sums.stop > 0;
    const bool due = every.due(CheckpointEvery::Unit::steps, global_step(step));
    if (stops || due) save_within_epoch(run);
    if (stops) return false;
  }
  return true;
}

StepSums Trainer::train_step(std::size_t step) {
  const std::size_t global_step = this->global_step(step);
  inject_fault(config_.fault, static_cast<std::size_t>(parts_.group.rank()), global_step,
               parts_.replica);
  pass_on_wish_to_stop();
  const NamedRange range(backend_, "step " + std::to_string(step));
  keep_trace(is_traced(global_step));
  timer_.begin();
  // The all-reduce only sums, so the loss is divided by the samples of all ranks beforehand.
  const float scale = 1.0F / static_cast<float>(sampler_.step_samples(step - 1));
  // Only a single micro-batch's gradients are final when backward announces them.
  parts_.sync.begin(global_step, plan_.micro_batches == 1);
  for (std::size_t k = 0; k < plan_.micro_batches; ++k) run_micro_batch(step - 1, k, scale);
  reduce_and_update(global_step);
  const StepSums sums = parts_.replica.step_sums();
  require_finite(sums, step);
  finish_update(sums);

  timer_.enter(Phase::other);
  if (config_.check_replicas == CheckReplicas::step) {
    check_.compare("after " + place_in_run(step));
  }
  record_step(step, sums);
  return sums;
}

void Trainer::run_micro_batch(std::size_t step, std::size_t micro_batch, float scale) {
  Replica& replica = parts_.replica;
  const auto rank = static_cast<std::size_t>(parts_.group.rank());
  input_->load({position_.epochs, step, plan_.virtual_rank(rank, micro_batch)}, timer_);
  timer_.enter(Phase::forward);
  timer_.divide(compute_phases(replica.compute(scale), input_->device_phase()));
  timer_.enter(Phase::other);
  accumulator_.push(replica.gradients());
}

/// Each bucket is applied as soon as it is summed, while later ones are still on their way.
void Trainer::reduce_and_update(std::size_t global_step) {
  Replica& replica = parts_.replica;
  accumulator_.finish(replica.gradients());
  parts_.sync.complete();
  if (config_.check_replicas == CheckReplicas::step) {
    timer_.enter(Phase::other);
    check_.before_update();
  }
  const std::size_t parameters = replica.parameters().size();
  const double rate = learning_rate(plan_.schedule, global_step - 1);
  for (std::size_t i = 0; i < parts_.sync.buckets(); ++i) {
    timer_.enter(Phase::all_reduce);
    parts_.sync.wait(i);
    timer_.enter(Phase::optimizer);
    const Range range = parts_.sync.bucket(i);
    if (range.begin >= parameters) continue;
    const std::size_t count = std::min(range.end, parameters) - range.begin;
    optimizer_.update(replica.parameters().subspan(range.begin, count),
                      replica.gradients().subspan(range.begin, count), range.begin, rate);
  }
  parts_.sync.end();
}

void Trainer::finish_update(const StepSums& sums) {
  Replica& replica = parts_.replica;
  replica.update_running_statistics(sums.samples);
  replica.parameters_changed();
  backend_.finish();  // so that a device's time for it is booked on it, not on the next step
}

void Trainer::record_step(std::size_t step, const StepSums& sums) {
  ReduceTimes reduce;
  std::vector<BucketRecord> buckets = parts_.sync.take_records();
  for (BucketRecord& bucket : buckets) {
    bucket.epoch = static_cast<std::uint32_t>(epoch());
    bucket.step = static_cast<std::uint32_t>(step);
    reduce.transfer += bucket.transfer;
    reduce.add += bucket.add;
  }
  const InputBusy input = input_->take_busy();
  const std::size_t mine = plan_.rank_samples(sampler_.step_samples(step - 1),
                                              static_cast<std::size_t>(parts_.group.rank()));
  StepRecord record;
  record.epoch = static_cast<std::uint32_t>(epoch());
  record.step = static_cast<std::uint32_t>(step);
  record.samples = static_cast<std::uint32_t>(mine);
  record.global_samples = static_cast<std::uint32_t>(sums.samples);
  record.seconds = timer_.end();
  if (is_traced(global_step(step))) trace_this_step(global_step(step), buckets);
  record.phases = timer_.seconds();
  record.all_reduce_busy = reduce.transfer + reduce.add;
  record.all_reduce_add = reduce.add;
  record.prepare_busy = input.prepare;
  record.copy_busy = input.copy;
  record.copy_bytes = input.copy_bytes;
  record.train_loss = static_cast<double>(sums.loss) / static_cast<double>(sums.samples);
  record.train_accuracy = static_cast<double>(sums.correct) / static_cast<double>(sums.samples);
  record.learning_rate = learning_rate(plan_.schedule, global_step(step) - 1);
  book_->add(record, buckets);
}

void Trainer::require_finite(const StepSums& sums, std::size_t step) {
  if (sums.nonfinite == 0.0F) return;
  stop_unless_finite(parts_.group, parts_.replica.was_finite(),
                     "the loss or a batch statistic is NaN or infinite at " + place_in_run(step));
}

/// What the last update did, no step looks at.
void Trainer::require_finite_parameters() {
  stop_unless_finite(parts_.group, parts_.replica.parameters_are_finite(),
                     "a parameter is NaN or infinite after " + place_in_run(position_.steps));
}

std::string Trainer::place_in_run(std::size_t step) const {
  return "epoch " + std::to_string(epoch()) + ", step " + std::to_string(step);
}

/// Once: the device keeps it.
void Trainer::pass_on_wish_to_stop() {
  if (passed_on_ || !parts_.stop_requested || !parts_.stop_requested()) return;
  parts_.replica.ask_to_stop();
  passed_on_ = true;
}

/// The time for it is the epoch's pause, not a step's, on all ranks. What is saved has been looked
/// at as it is at the end of an epoch.
void Trainer::save_within_epoch(const RunRecord& run) {
  const Stopwatch pause;
  require_finite_parameters();
  if (config_.check_replicas != CheckReplicas::off) {
    check_.compare("after " + place_in_run(position_.steps));
  }
  TrainPosition position = position_;
  position.seconds = seconds_so_far();
  save(run, position);
  parts_.group.barrier();
  paused_ += pause.seconds();
}

void Trainer::save(const RunRecord& run, const TrainPosition& position) {
  if (parts_.checkpoints == nullptr) return;
  parts_.checkpoints->save({position, run, parts_.replica, optimizer_.velocities()});
}

bool Trainer::is_traced(std::size_t global_step) const {
  return !config_.trace.empty() && global_step <= config_.trace_steps;
}

void Trainer::keep_trace(bool keeps) {
  timer_.keep_spans(keeps);
  parts_.sync.journal().keep_spans(keeps);
}

void Trainer::trace_this_step(std::size_t global_step, const std::vector<BucketRecord>& buckets) {
  book_->add_trace(trace_step(static_cast<std::uint32_t>(global_step), timer_.take_spans(), buckets,
                              parts_.sync.journal().take_spans()));
}

}  // namespace rueda
