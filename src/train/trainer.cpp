#include "rueda/train/trainer.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "evaluator.hpp"
#include "gradient_accumulator.hpp"
#include "rueda/optim/sgd.hpp"
#include "step_checks.hpp"
#include "step_recorder.hpp"
#include "train_input.hpp"

namespace rueda {

/// The loop of a Trainer: epochs of steps.
class Trainer::Loop {
 public:
  Loop(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts,
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
        input_(make_train_input(
            {config, plan, rank(), parts.replica, parts.data.train, sampler_, from})),
        recorder_(parts.group, parts.monitor, parts.since_start, parts.reducer,
                  config.trace.empty() ? 0 : config.trace_steps) {
    if (from.epochs > 0 || from.steps > 0) resumed_at_ = from.steps;
  }

  void run(RunRecord& run) {
    // Shows that the broadcast arrived, and gives the first step's check something to compare with.
    if (!checks(CheckReplicas::off)) check_.compare("before the first step");
    // An earlier process may have reached it.
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

  std::span<float> velocities() { return optimizer_.velocities(); }

 private:
  /// False: a rank asked to stop before the epoch's end.
  bool train_epoch(const RunRecord& run, EpochRecord& record) {
    sampler_.set_epoch(position_.epochs);
    record.resumed_at_step = std::exchange(resumed_at_, std::nullopt);
    recorder_.open_epoch();
    const NamedRange range(backend_, "epoch " + std::to_string(epoch()));
    if (!take_steps(run)) return false;
    parts_.group.barrier();
    record.seconds = seconds_so_far();
    recorder_.close_epoch();
    record.epoch = epoch();
    record.steps = sampler_.steps_per_epoch();
    record.ranks = plan_.world;
    record.train = position_.so_far.score(record.seconds);
    record.images_per_second = position_.so_far.samples / record.seconds;
    record.learning_rate = rate_of(record.steps);
    return true;
  }

  /// Whether all steps were taken, and not only those until a rank asked to stop.
  bool take_steps(const RunRecord& run) {
    watch_ = Stopwatch();
    paused_ = 0;
    while (position_.steps < sampler_.steps_per_epoch()) {
      const bool stops = train_step(position_.steps + 1).stop > 0;
      const std::size_t done = global_step(position_.steps);
      const bool due = config_.checkpoint_every.due(CheckpointEvery::Unit::steps, done);
      if (stops || due) save_within_epoch(run);
      if (stops) return false;
    }
    return true;
  }

  /// Whether the target accuracy is reached.
  bool finish_epoch(RunRecord& run, EpochRecord record) {
    require_finite_parameters();
    if (evaluator_.due(record.epoch)) record.test = evaluator_.score();
    record.parameter_hash = checks(CheckReplicas::off)
                                ? combined_hash(hash_replica(parts_.replica))
                                : check_.compare("after epoch " + std::to_string(record.epoch));
    recorder_.gather(run, record);
    const double spent = record.seconds + (record.test ? record.test->seconds : 0.0);
    position_ = TrainPosition{.epochs = record.epoch, .spent = position_.spent + spent};
    const bool reached = reaches_target(config_, record);
    run.epochs.push_back(std::move(record));
    if (reached) run.seconds_to_target = position_.spent;
    const bool last = reached || position_.epochs == config_.epochs;
    run.total_seconds = parts_.since_start.seconds();
    together(parts_.group, [&] { parts_.observer.on_epoch(run); });
    const CheckpointEvery& every = config_.checkpoint_every;
    if (every.due(CheckpointEvery::Unit::epochs, position_.epochs) || (last && every.count > 0))
      save(run, position_);
    return reached;
  }

  StepSums train_step(std::size_t step) {
    before_step(step);
    const NamedRange range(backend_, "step " + std::to_string(step));
    recorder_.begin_step(global_step(step));
    run_micro_batches(step);
    reduce_and_update(step);
    const StepSums sums = finish_step(step);
    record_step(step, sums);
    return sums;
  }

  /// Faults and stop requests. A stop request is passed on once: the device keeps it.
  void before_step(std::size_t step) {
    inject_fault(config_.fault, rank(), global_step(step), parts_.replica);
    if (asked_to_stop_ || !parts_.stop_requested || !parts_.stop_requested()) return;
    parts_.replica.ask_to_stop();
    asked_to_stop_ = true;
  }

  void run_micro_batches(std::size_t step) {
    Replica& replica = parts_.replica;
    // The all-reduce only sums, so the loss is divided by the samples of all ranks before.
    const float scale = 1.0F / float(sampler_.step_samples(step - 1));
    // Only a single micro-batch's gradients are final when backward announces them.
    parts_.reducer.begin(global_step(step), plan_.micro_batches == 1);
    for (std::size_t k = 0; k < plan_.micro_batches; ++k) {
      input_->load({position_.epochs, step - 1, plan_.virtual_rank(rank(), k)}, timer());
      timer().enter(Phase::forward);
      recorder_.divide(replica.compute(scale), input_->device_phase());
      accumulator_.push(replica.gradients());
    }
    accumulator_.finish(replica.gradients());
    parts_.reducer.complete();
  }

  /// Each bucket is applied as soon as it is summed, while later ones are still on their way.
  void reduce_and_update(std::size_t step) {
    Replica& replica = parts_.replica;
    if (checks(CheckReplicas::step)) {
      timer().enter(Phase::other);
      check_.before_update();
    }
    const std::size_t parameters = replica.parameters().size();
    const double rate = rate_of(step);
    for (std::size_t i = 0; i < parts_.reducer.buckets(); ++i) {
      timer().enter(Phase::all_reduce);
      parts_.reducer.wait(i);
      timer().enter(Phase::optimizer);
      const Range bucket = parts_.reducer.bucket(i);
      if (bucket.begin >= parameters) continue;
      const Range range{bucket.begin, std::min(bucket.end, parameters)};
      optimizer_.update(cut(replica.parameters(), range), cut(replica.gradients(), range),
                        range.begin, rate);
    }
    parts_.reducer.end();
  }

  StepSums finish_step(std::size_t step) {
    Replica& replica = parts_.replica;
    const StepSums sums = replica.step_sums();
    if (sums.nonfinite != 0.0F) {
      stop_unless_finite(parts_.group, replica.was_finite(),
                         "the loss or a batch statistic is NaN or infinite at " + in_words(step));
    }
    replica.update_running_statistics(sums.samples);
    replica.parameters_changed();
    backend_.finish();  // so that a device's time for it is booked on it, not on the next step
    timer().enter(Phase::other);
    if (checks(CheckReplicas::step)) check_.compare("after " + in_words(step));
    return sums;
  }

  void record_step(std::size_t step, const StepSums& sums) {
    const std::size_t mine = plan_.rank_samples(sampler_.step_samples(step - 1), rank());
    recorder_.end_step({.epoch = std::uint32_t(epoch()),
                        .step = std::uint32_t(step),
                        .samples = std::uint32_t(mine),
                        .learning_rate = rate_of(step)},
                       sums, input_->take_busy());
    position_.steps = step;
    Totals& totals = position_.so_far;
    totals += {sums.loss, sums.correct, sums.samples};
    parts_.observer.on_step({.epoch = epoch(),
                             .step = step,
                             .images = std::size_t(totals.samples),
                             .loss = totals.loss / totals.samples,
                             .seconds = seconds_so_far()});
  }

  /// A step looks at its loss, which does not show what its own update did.
  void require_finite_parameters() {
    stop_unless_finite(parts_.group, parts_.replica.parameters_are_finite(),
                       "a parameter is NaN or infinite after " + in_words(position_.steps));
  }

  /// A pause of the epoch on all ranks, and no step's time. The saved state passes the same checks
  /// as at the end of an epoch.
  void save_within_epoch(const RunRecord& run) {
    const Stopwatch pause;
    require_finite_parameters();
    if (!checks(CheckReplicas::off)) check_.compare("after " + in_words(position_.steps));
    TrainPosition position = position_;
    position.seconds = seconds_so_far();
    save(run, position);
    parts_.group.barrier();
    paused_ += pause.seconds();
  }

  void save(const RunRecord& run, const TrainPosition& position) {
    if (parts_.checkpoints == nullptr) return;
    parts_.checkpoints->save({position, run, parts_.replica, optimizer_.velocities()});
  }

  bool checks(CheckReplicas when) const { return config_.check_replicas == when; }
  /// Of this epoch, those of an earlier process included.
  double seconds_so_far() const { return position_.seconds + watch_.seconds() - paused_; }
  /// The current one, from 1.
  std::size_t epoch() const { return position_.epochs + 1; }
  std::size_t rank() const { return std::size_t(parts_.group.rank()); }
  std::size_t global_step(std::size_t step) const {
    return position_.epochs * sampler_.steps_per_epoch() + step;
  }
  double rate_of(std::size_t step) const {
    return learning_rate(plan_.schedule, global_step(step) - 1);
  }
  std::string in_words(std::size_t step) const {
    return "epoch " + std::to_string(epoch()) + ", step " + std::to_string(step);
  }
  PhaseTimer& timer() { return recorder_.timer(); }

  const TrainConfig& config_;
  const RunPlan& plan_;
  TrainerParts parts_;
  Backend& backend_;
  Sampler sampler_;
  Evaluator evaluator_;
  Sgd optimizer_;
  GradientAccumulator accumulator_;
  ReplicaCheck check_;
  TrainPosition position_;
  std::unique_ptr<TrainInput> input_;
  StepRecorder recorder_;
  Stopwatch watch_;    ///< of this epoch's steps
  double paused_ = 0;  ///< seconds since it was started that checkpoints took
  std::optional<std::size_t> resumed_at_;
  bool asked_to_stop_ = false;  ///< this rank has passed its stop request on
};

Trainer::Trainer(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts,
                 const TrainPosition& from)
    : loop_(std::make_unique<Loop>(config, plan, parts, from)) {}
Trainer::~Trainer() = default;
void Trainer::run(RunRecord& run) { loop_->run(run); }
std::span<float> Trainer::velocities() { return loop_->velocities(); }

}  // namespace rueda
