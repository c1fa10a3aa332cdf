#include "train/step_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/statistics.hpp"
#include "base/waiting.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "train/run_plan.hpp"
#include "train/train_input.hpp"

namespace rueda {

namespace {

/// Of all ranks together: what run.json and rank 0's memory have room for.
constexpr std::size_t kMostDeviceSamples = 50'000;

/// Collective: every rank's records, on rank 0.
template <typename Record>
ByRank<Record> gather_records(RankGroup& group, const std::vector<Record>& mine) {
  return from_bytes<Record>(group.gather(std::as_bytes(std::span(mine)), 0));
}

/// Appends each rank's part of `more` to that of `all`.
template <typename Part>
void append(ByRank<Part>& all, const ByRank<Part>& more) {
  all.resize(more.size());
  for (std::size_t rank = 0; rank < more.size(); ++rank)
    all[rank].insert(all[rank].end(), more[rank].begin(), more[rank].end());
}

}  // namespace

void book_waits(ByRank<StepRecord>& steps, ByRank<BucketRecord>& buckets,
                const std::vector<ClockFit>& clocks) {
  if (buckets.empty()) return;
  // Rank by rank, as they lie in memory.
  std::vector<double> latest(buckets.front().size());
  for (std::size_t r = 0; r < buckets.size(); ++r)
    for (std::size_t i = 0; i < latest.size(); ++i)
      latest[i] = std::max(latest[i], clocks.at(r).to_rank0(buckets[r].at(i).begin));
  for (std::size_t r = 0; r < buckets.size(); ++r) {
    auto& mine = steps.at(r);
    for (std::size_t i = 0; i < latest.size(); ++i) {
      BucketRecord& record = buckets[r][i];
      const double wait = latest[i] - clocks[r].to_rank0(record.begin);
      record.wait = std::clamp(wait, 0.0, record.transfer);
      mine.at(record.step - mine.at(0).step).all_reduce_wait += record.wait;
    }
  }
}

std::vector<TraceSpan> trace_step(std::uint32_t step, const std::vector<PhaseSpan>& phases,
                                  const std::vector<BucketRecord>& buckets,
                                  const std::vector<ReduceSpan>& acts) {
  std::vector<TraceSpan> spans;
  for (const PhaseSpan& phase : phases) {
    spans.push_back({.begin = steady_seconds(phase.begin), .end = steady_seconds(phase.end)});
    spans.back().set_name(kPhaseNames[std::size_t(phase.phase)]);
  }
  for (const BucketRecord& bucket : buckets) {
    spans.push_back({.begin = std::min(bucket.ready, bucket.begin),
                     .end = bucket.end,
                     .lane = TraceLane::buckets,
                     .bucket = std::int16_t(bucket.bucket)});
    spans.back().set_name("bucket " + std::to_string(bucket.bucket));
  }
  for (const auto& [act, bucket, begin, end] : acts) {
    spans.push_back({.begin = steady_seconds(begin),
                     .end = steady_seconds(end),
                     .lane = TraceLane::all_reduce,
                     .bucket = std::int16_t(bucket),
                     .part = act.step,
                     .to = act.to,
                     .from = act.from});
    spans.back().set_name(act.kind == ReduceAct::Kind::add ? "add" : act.phase);
  }
  for (TraceSpan& span : spans) span.step = step;
  return spans;
}

std::vector<std::size_t> choose_traced(const ByRank<StepRecord>& steps) {
  std::vector<std::size_t> ranks(steps.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  if (ranks.size() <= kTracedRanks) return ranks;
  std::vector<double> useful;
  for (const auto& of_rank : steps) {
    double& seconds = useful.emplace_back(0);
    for (const StepRecord& step : of_rank) seconds += step.seconds - step.phases[kAllReduce];
  }
  std::ranges::stable_sort(ranks, {}, [&useful](std::size_t rank) { return useful[rank]; });
  std::erase(ranks, 0U);
  std::vector<std::size_t> chosen = {0};
  const std::size_t others = kTracedRanks - 1;
  for (std::size_t i = 0; i < others; ++i)
    chosen.push_back(ranks[i * (ranks.size() - 1) / (others - 1)]);
  std::ranges::sort(chosen);
  return chosen;
}

void thin_samples(std::vector<DeviceSample>& samples, double stride) {
  std::vector<DeviceSample> kept;
  double last = -1;
  for (const DeviceSample& sample : samples) {
    const double slot = std::floor(sample.seconds / stride);
    if (slot > last) kept.push_back(sample);
    last = slot;
  }
  samples = std::move(kept);
}

void align(std::vector<TraceSpan>& spans, const ClockFit& clock) {
  for (TraceSpan& span : spans) {
    span.begin = clock.to_rank0(span.begin);
    span.end = clock.to_rank0(span.end);
  }
}

DeviceWatch::DeviceWatch(DeviceMonitor& monitor, const Stopwatch& since_start, double interval)
    : monitor_(monitor), since_start_(since_start) {
  sample();  // here, so that a run of less than an interval has one too
  thread_ = make_thread("samples of the device", [this, interval](const std::stop_token& stop) {
    while (!stops_within(stop, interval)) sample();
  });
}

double DeviceWatch::energy_joules() {
  const std::lock_guard lock(mutex_);
  return monitor_.energy_joules();
}

std::vector<DeviceSample> DeviceWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(samples_, {});
}

void DeviceWatch::sample() {
  const std::lock_guard lock(mutex_);
  DeviceSample& sample = samples_.emplace_back(monitor_.sample());
  sample.seconds = since_start_.seconds();
}

StepRecorder::StepRecorder(const TrainerParts& parts)
    : group_(parts.group),
      reducer_(parts.reducer),
      global_batch_(parts.plan.global_batch),
      traced_(parts.config.output.trace.empty() ? 0 : parts.config.output.trace_steps) {
  if (parts.monitor != nullptr) watch_.emplace(*parts.monitor, parts.since_start);
  if (parts.host != nullptr) host_.emplace(*parts.host, parts.since_start);
  if (parts.from.steps > 0) before_ = parts.from.energy;
}

void StepRecorder::open_epoch() {
  steps_.clear();
  scores_.clear();
  buckets_.clear();
  if (!compared_) note_clock();
  group_.barrier();
  energy_ = counters();
}

void StepRecorder::begin_step(std::size_t global_step) {
  global_step_ = global_step;
  timer_.keep_spans(global_step_ <= traced_);
  reducer_.journal().keep_spans(global_step_ <= traced_);
  timer_.begin();
}

void StepRecorder::divide(const ComputeSeconds& seconds, Phase input) {
  PhaseSeconds phases{};
  const auto book = [&](Phase phase, double s) { phases[std::size_t(phase)] = s; };
  book(input, seconds.load);
  book(Phase::forward, seconds.forward);
  book(Phase::loss, seconds.loss);
  book(Phase::backward, seconds.backward);
  timer_.divide(phases);
  timer_.enter(Phase::other);
}

void StepRecorder::computed(const CoreTime& cores) {
  if (!(cores.got >= 0 && cores.wanted > 0)) return;
  cores_.got += cores.got;
  cores_.wanted += cores.wanted;
}

void StepRecorder::end_step(StepRecord step, const InputBusy& input) {
  std::vector<BucketRecord> buckets = reducer_.take_records();
  step.prepare_busy = input.prepare;
  step.copy_busy = input.copy;
  step.copy_bytes = input.copy_bytes;
  step.cores = std::exchange(cores_, {});
  for (BucketRecord& bucket : buckets) {
    bucket.epoch = step.epoch;
    bucket.step = step.step;
    step.all_reduce_busy += bucket.end - bucket.begin;
    step.all_reduce_add += bucket.add;
  }
  step.seconds = timer_.end();
  step.phases = timer_.seconds();
  std::ranges::copy(step.phases, last_.phases.begin());
  steps_.push_back(step);
  buckets_.insert(buckets_.end(), buckets.begin(), buckets.end());
  if (global_step_ > traced_) return;
  const auto spans = trace_step(std::uint32_t(global_step_), timer_.take_spans(), buckets,
                                reducer_.journal().take_spans());
  trace_.insert(trace_.end(), spans.begin(), spans.end());
  spans_ += spans.size();
  const std::size_t ranks = std::min(std::size_t(group_.size()), kTracedRanks);
  if (global_step_ == traced_ || spans_ < kMostTraceSpans / ranks) return;
  traced_ = global_step_;
  if (group_.rank() == 0)
    log(LogLevel::info, fmt::format("the trace ends after step {}: each has {} spans of a rank",
                                    traced_, spans.size()));
}

void StepRecorder::close_epoch() {
  clock_.first = clock_.last;
  clock_.first_time = clock_.last_time;
  note_clock();
  energy_ = counters() - energy_;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const StepSums& sums = scores_.at(i).sums;
    steps_[i].train_loss = double(sums.loss) / sums.samples;
    steps_[i].train_accuracy = double(sums.correct) / sums.samples;
    steps_[i].norms = scores_[i].norms();
  }
}

/// A part's gradient in the arena is b / B times its mean gradient.
StepNorms StepRecorder::StepScore::norms() const {
  if (sums.parts == 0) return {};
  return {.images = double(sums.samples),
          .parts = double(sums.parts),
          .part_norm2 = double(sums.samples) * double(sums.part_squares),
          .gradient_norm2 = gradient_norm2};
}

Energy StepRecorder::energy(const std::vector<RankInfo>& ranks) {
  return total_energy(all_gather(group_, counters() - energy_), ranks) + before_;
}

MeasuredCost StepRecorder::cost() const {
  std::vector<RankCost> full;
  for (const StepRecord& s : steps_) {
    if (!is_kind(s, global_batch_, StepKind::full) || s.samples == 0) continue;
    const auto of = [&](Phase phase) { return s.phases[std::size_t(phase)]; };
    const double fixed = of(Phase::optimizer) + of(Phase::other);
    full.push_back({fixed, (s.seconds - of(Phase::all_reduce) - fixed) / s.samples});
  }
  return measured_cost(full);
}

void StepRecorder::gather(RunRecord& run, EpochRecord& epoch) {
  epoch.step_records = gather_records(group_, steps_);
  epoch.bucket_records = gather_records(group_, buckets_);
  epoch.clocks = all_gather(group_, clock_);
  book_waits(epoch.step_records, epoch.bucket_records, epoch.clocks);
  if (!run.config.output.trace.empty()) gather_trace(run, epoch);
  epoch.clock_seconds = std::exchange(clock_seconds_, 0);
  epoch.rank_energy = all_gather(group_, energy_);
  epoch.energy = total_energy(epoch.rank_energy, run.ranks) + std::exchange(before_, {0, 0});
  epoch.energy.images = double(epoch.train.samples);
  gather_samples(run);
}

void StepRecorder::gather_samples(RunRecord& run) {
  if (host_) host_->take();  // a host has no samples
  std::vector<DeviceSample> mine;
  if (watch_) mine = watch_->take();
  append(run.gpu_samples, gather_records(group_, mine));
  const auto kept = [&run] {
    std::size_t all = 0;
    for (const auto& samples : run.gpu_samples) all += samples.size();
    return all;
  };
  if (sample_stride_ > 1)
    for (auto& samples : run.gpu_samples) thin_samples(samples, sample_stride_);
  while (kept() > std::max(kMostDeviceSamples, 2 * run.gpu_samples.size())) {
    sample_stride_ *= 2;
    for (auto& samples : run.gpu_samples) thin_samples(samples, sample_stride_);
  }
}

void StepRecorder::note_clock() {
  const Stopwatch watch;
  clock_.last = group_.clock_offset();
  clock_.last_time = steady_seconds();
  clock_seconds_ += watch.seconds();
  compared_ = true;
}

Energy StepRecorder::counters() {
  Energy energy{.hosts = 0};
  if (watch_) energy.gpus = watch_->energy_joules();
  if (host_) energy.hosts = host_->energy_joules();
  return energy;
}

bool StepRecorder::is_traced(const EpochRecord& epoch) {
  const auto ranks = std::size_t(group_.size());
  if (traced_ranks_.empty()) {
    const auto chosen = choose_traced(epoch.step_records);  // of no use on other ranks
    traced_ranks_.assign(chosen.begin(), chosen.end());
    traced_ranks_.resize(std::min(ranks, kTracedRanks));
    group_.broadcast(std::as_writable_bytes(std::span(traced_ranks_)), 0);
  }
  return std::ranges::count(traced_ranks_, std::uint32_t(group_.rank())) > 0;
}

void StepRecorder::gather_trace(RunRecord& run, const EpochRecord& epoch) {
  std::vector<TraceSpan> mine = std::exchange(trace_, {});
  if (!is_traced(epoch)) {
    traced_ = 0;
    mine.clear();
  }
  align(mine, clock_);
  append(run.trace, gather_records(group_, mine));
  for (const std::uint32_t rank : traced_ranks_)
    run.clock_error = std::max(run.clock_error, epoch.clocks.at(rank).error());
}

}  // namespace rueda
