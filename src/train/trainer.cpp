#include "rueda/train/trainer.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "finite.hpp"
#include "rueda/backend/named_range.hpp"
#include "rueda/train/fault.hpp"
#include "totals.hpp"

namespace rueda {
namespace {

/// Every rank's records, on rank 0.
template <typename Record>
std::vector<std::vector<Record>> gather_records(RankGroup& group, const std::vector<Record>& mine) {
  std::vector<std::vector<Record>> all;
  for (const auto& bytes : group.gather(std::as_bytes(std::span(mine)), 0)) {
    auto& records = all.emplace_back(bytes.size() / sizeof(Record));
    std::memcpy(records.data(), bytes.data(), bytes.size());
  }
  return all;
}

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

std::string place_in_run(std::size_t epoch, std::size_t step) {
  return "epoch " + std::to_string(epoch) + ", step " + std::to_string(step);
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const RunPlan& plan, const TrainerParts& parts)
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
      input_(make_train_input({config, plan, static_cast<std::size_t>(parts.group.rank()),
                               parts.replica, parts.data.train, sampler_})) {}

void Trainer::run(RunRecord& run) {
  double spent = 0;
  // Shows that the broadcast arrived, and gives the first step's check something to compare with.
  if (config_.check_replicas != CheckReplicas::off) check_.compare("before the first step");
  for (std::size_t epoch = 1; epoch <= config_.epochs; ++epoch) {
    EpochRecord record = train_epoch(epoch);
    require_finite_parameters(epoch);
    if (evaluator_.due(epoch)) record.test = evaluator_.score();
    record.parameter_hash = config_.check_replicas == CheckReplicas::off
                                ? combined_hash(hash_replica(parts_.replica))
                                : check_.compare("after epoch " + std::to_string(epoch));
    gather_steps(run, record);
    gather_device_use(run, record);
    spent += record.seconds + (record.test ? record.test->seconds : 0.0);
    const bool reached = reaches_target(record);
    run.epochs.push_back(std::move(record));
    if (reached) run.seconds_to_target = spent;
    if (reached || epoch == config_.epochs) run.outcome = reached ? "target reached" : "completed";
    run.total_seconds = parts_.since_start.seconds();
    together(parts_.group, [&] { parts_.observer.on_epoch(run); });
    if (reached) return;
  }
}

EpochRecord Trainer::train_epoch(std::size_t epoch) {
  epoch_ = epoch - 1;
  sampler_.set_epoch(epoch_);
  steps_.clear();
  buckets_.clear();
  Totals totals;
  clock_.first = note_clock(clock_.first_time);
  parts_.group.barrier();
  const NamedRange range(backend_, "epoch " + std::to_string(epoch));
  const double joules = joules_so_far();
  const Stopwatch watch;
  for (std::size_t step = 1; step <= sampler_.steps_per_epoch(); ++step) {
    const StepSums sums = train_step(epoch, step);
    totals.loss += static_cast<double>(sums.loss);
    totals.correct += static_cast<double>(sums.correct);
    totals.samples += static_cast<double>(sums.samples);
    parts_.observer.on_step({.epoch = epoch,
                             .step = step,
                             .images = static_cast<std::size_t>(totals.samples),
                             .loss = totals.loss / totals.samples,
                             .seconds = watch.seconds()});
  }
  parts_.group.barrier();
  const double seconds = watch.seconds();
  clock_.last = note_clock(clock_.last_time);

  EpochRecord record;
  record.epoch = epoch;
  record.steps = sampler_.steps_per_epoch();
  record.seconds = seconds;
  energy_ = joules_so_far() - joules;
  record.train = totals.score(record.seconds);
  record.images_per_second = totals.samples / record.seconds;
  record.learning_rate = learning_rate(plan_.schedule, epoch * record.steps - 1);
  return record;
}

StepSums Trainer::train_step(std::size_t epoch, std::size_t step) {
  const std::size_t global_step = epoch_ * sampler_.steps_per_epoch() + step;
  inject_fault(config_.fault, static_cast<std::size_t>(parts_.group.rank()), global_step,
               parts_.replica);
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
  require_finite(sums, epoch, step);
  finish_update(sums);

  timer_.enter(Phase::other);
  if (config_.check_replicas == CheckReplicas::step) {
    check_.compare("after " + place_in_run(epoch, step));
  }
  record_step(epoch, step, global_step, sums);
  return sums;
}

void Trainer::run_micro_batch(std::size_t step, std::size_t micro_batch, float scale) {
  Replica& replica = parts_.replica;
  const auto rank = static_cast<std::size_t>(parts_.group.rank());
  input_->load({epoch_, step, plan_.virtual_rank(rank, micro_batch)}, timer_);
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

void Trainer::record_step(std::size_t epoch, std::size_t step, std::size_t global_step,
                          const StepSums& sums) {
  ReduceTimes reduce;
  std::vector<BucketRecord> buckets = parts_.sync.take_records();
  for (BucketRecord& bucket : buckets) {
    bucket.epoch = static_cast<std::uint32_t>(epoch);
    bucket.step = static_cast<std::uint32_t>(step);
    reduce.transfer += bucket.transfer;
    reduce.add += bucket.add;
    buckets_.push_back(bucket);
  }
  const InputBusy input = input_->take_busy();
  const std::size_t mine = plan_.rank_samples(sampler_.step_samples(step - 1),
                                              static_cast<std::size_t>(parts_.group.rank()));
  StepRecord record;
  record.epoch = static_cast<std::uint32_t>(epoch);
  record.step = static_cast<std::uint32_t>(step);
  record.samples = static_cast<std::uint32_t>(mine);
  record.global_samples = static_cast<std::uint32_t>(sums.samples);
  record.seconds = timer_.end();
  if (is_traced(global_step)) trace_this_step(global_step, buckets);
  record.phases = timer_.seconds();
  record.all_reduce_busy = reduce.transfer + reduce.add;
  record.all_reduce_add = reduce.add;
  record.prepare_busy = input.prepare;
  record.copy_busy = input.copy;
  record.copy_bytes = input.copy_bytes;
  record.train_loss = static_cast<double>(sums.loss) / static_cast<double>(sums.samples);
  record.train_accuracy = static_cast<double>(sums.correct) / static_cast<double>(sums.samples);
  record.learning_rate = learning_rate(plan_.schedule, global_step - 1);
  steps_.push_back(record);
}

void Trainer::require_finite(const StepSums& sums, std::size_t epoch, std::size_t step) {
  if (sums.nonfinite == 0.0F) return;
  stop_unless_finite(
      parts_.group, parts_.replica.was_finite(),
      "the loss or a batch statistic is NaN or infinite at " + place_in_run(epoch, step));
}

/// What the last update of an epoch did, no step looks at.
void Trainer::require_finite_parameters(std::size_t epoch) {
  stop_unless_finite(
      parts_.group, parts_.replica.parameters_are_finite(),
      "a parameter is NaN or infinite after " + place_in_run(epoch, sampler_.steps_per_epoch()));
}

double Trainer::joules_so_far() const {
  return parts_.watch != nullptr ? parts_.watch->energy_joules() : DeviceSample::kUnknown;
}

bool Trainer::is_traced(std::size_t global_step) const {
  return !config_.trace.empty() && global_step <= config_.trace_steps;
}

void Trainer::keep_trace(bool keeps) {
  timer_.keep_spans(keeps);
  parts_.sync.journal().keep_spans(keeps);
}

void Trainer::trace_this_step(std::size_t global_step, const std::vector<BucketRecord>& buckets) {
  const auto step = trace_step(static_cast<std::uint32_t>(global_step), timer_.take_spans(),
                               buckets, parts_.sync.journal().take_spans());
  trace_.insert(trace_.end(), step.begin(), step.end());
}

ClockOffset Trainer::note_clock(double& time) {
  const ClockOffset offset = parts_.group.clock_offset();
  time = steady_seconds();
  return offset;
}

/// Collective.
void Trainer::gather_steps(RunRecord& run, EpochRecord& epoch) {
  epoch.step_records = gather_records(parts_.group, steps_);
  epoch.bucket_records = gather_records(parts_.group, buckets_);
  for (const auto& clock : gather_records(parts_.group, std::vector{clock_})) {
    epoch.clocks.push_back(clock.at(0));
  }
  book_waits(epoch.step_records, epoch.bucket_records, epoch.clocks);
  if (config_.trace.empty()) return;
  auto spans = gather_records(parts_.group, std::exchange(trace_, {}));
  run.trace.resize(spans.size());
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    align(spans[rank], epoch.clocks.at(rank));
    run.trace[rank].insert(run.trace[rank].end(), spans[rank].begin(), spans[rank].end());
  }
}

/// Collective.
void Trainer::gather_device_use(RunRecord& run, EpochRecord& epoch) {
  for (const auto& energy : gather_records(parts_.group, std::vector{energy_})) {
    epoch.energy_joules.push_back(energy.at(0));
  }
  const auto mine = parts_.watch != nullptr ? parts_.watch->take() : std::vector<DeviceSample>();
  const auto all = gather_records(parts_.group, mine);
  run.gpu_samples.resize(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    run.gpu_samples[rank].insert(run.gpu_samples[rank].end(), all[rank].begin(), all[rank].end());
  }
}

bool Trainer::reaches_target(const EpochRecord& epoch) const {
  if (!config_.target_accuracy) return false;
  // Where a run evaluates, only an evaluation can reach the target.
  if (config_.eval_every != 0)
    return epoch.test && epoch.test->accuracy >= *config_.target_accuracy;
  return epoch.train.accuracy >= *config_.target_accuracy;
}

}  // namespace rueda
