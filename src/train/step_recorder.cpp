#include "step_recorder.hpp"

#include <span>
#include <utility>

namespace rueda {
namespace {

/// Collective: every rank's records, on rank 0.
template <typename Record>
std::vector<std::vector<Record>> gather_records(RankGroup& group, const std::vector<Record>& mine) {
  return from_bytes<Record>(group.gather(std::as_bytes(std::span(mine)), 0));
}

/// The same of one value a rank.
template <typename Value>
std::vector<Value> gather_values(RankGroup& group, const Value& mine) {
  std::vector<Value> all;
  for (const auto& values : gather_records(group, std::vector{mine})) all.push_back(values.at(0));
  return all;
}

/// Appends each rank's part of `more` to that of `all`.
template <typename Part>
void append(std::vector<std::vector<Part>>& all, const std::vector<std::vector<Part>>& more) {
  all.resize(more.size());
  for (std::size_t rank = 0; rank < more.size(); ++rank) {
    all[rank].insert(all[rank].end(), more[rank].begin(), more[rank].end());
  }
}

}  // namespace

void StepRecorder::open_epoch() {
  steps_.clear();
  buckets_.clear();
  clock_.first = note_clock(clock_.first_time);
  group_.barrier();
  energy_ = joules_so_far();
}

void StepRecorder::begin_step(std::size_t global_step) {
  global_step_ = global_step;
  timer_.keep_spans(global_step_ <= traced_);
  reducer_.journal().keep_spans(global_step_ <= traced_);
  timer_.begin();
}

void StepRecorder::end_step(StepRecord step, const InputBusy& input) {
  std::vector<BucketRecord> buckets = reducer_.take_records();
  step.prepare_busy = input.prepare;
  step.copy_busy = input.copy;
  step.copy_bytes = input.copy_bytes;
  for (BucketRecord& bucket : buckets) {
    bucket.epoch = step.epoch;
    bucket.step = step.step;
    step.all_reduce_busy += bucket.transfer + bucket.add;
    step.all_reduce_add += bucket.add;
  }
  step.seconds = timer_.end();
  step.phases = timer_.seconds();
  steps_.push_back(step);
  buckets_.insert(buckets_.end(), buckets.begin(), buckets.end());
  if (global_step_ > traced_) return;
  const auto spans = trace_step(static_cast<std::uint32_t>(global_step_), timer_.take_spans(),
                                buckets, reducer_.journal().take_spans());
  trace_.insert(trace_.end(), spans.begin(), spans.end());
}

void StepRecorder::close_epoch() {
  clock_.last = note_clock(clock_.last_time);
  energy_ = joules_so_far() - energy_;
}

void StepRecorder::gather(RunRecord& run, EpochRecord& epoch) {
  gather_steps(run, epoch);
  gather_device_use(run, epoch);
}

ClockOffset StepRecorder::note_clock(double& time) {
  const ClockOffset offset = group_.clock_offset();
  time = steady_seconds();
  return offset;
}

double StepRecorder::joules_so_far() const {
  return watch_ != nullptr ? watch_->energy_joules() : DeviceSample::kUnknown;
}

void StepRecorder::gather_steps(RunRecord& run, EpochRecord& epoch) {
  epoch.step_records = gather_records(group_, steps_);
  epoch.bucket_records = gather_records(group_, buckets_);
  epoch.clocks = gather_values(group_, clock_);
  book_waits(epoch.step_records, epoch.bucket_records, epoch.clocks);
  if (run.config.trace.empty()) return;
  auto spans = gather_records(group_, std::exchange(trace_, {}));
  for (std::size_t rank = 0; rank < spans.size(); ++rank) align(spans[rank], epoch.clocks.at(rank));
  append(run.trace, spans);
}

void StepRecorder::gather_device_use(RunRecord& run, EpochRecord& epoch) {
  epoch.energy_joules = gather_values(group_, energy_);
  const auto mine = watch_ != nullptr ? watch_->take() : std::vector<DeviceSample>();
  append(run.gpu_samples, gather_records(group_, mine));
}

}  // namespace rueda
