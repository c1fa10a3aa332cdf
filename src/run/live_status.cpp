#include "run/live_status.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/statistics.hpp"
#include "base/waiting.hpp"
#include "display/run_text.hpp"
#include "mpi/session/watchdog.hpp"
#include "record/aggregation.hpp"

namespace rueda {
namespace {

constexpr double kInterval = 1, kLongestInterval = 5;  // seconds
constexpr double kMostShare = 0.001;                   // of a core
constexpr double kLongWait = 2;                        // seconds

/// Of this thread.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

}  // namespace

LiveStatus::LiveStatus(const RunRecord& run, const ReduceJournal& journal)
    : run_(run),
      journal_(journal),
      pace_({run.config.training.epochs, run.steps_per_epoch, run.config.training.eval_every},
            RankSlots(run.ranks.size()).stride) {
  status_.model = run.config.model.name;
  status_.all_reduce = run.all_reduce;
  status_.world_size = run.ranks.size();
  status_.global_batch = run.global_batch;
  status_.started_at = unix_seconds();
  status_.at = {.epoch = std::min(run.epochs.size() + 1, run.config.training.epochs),
                .epochs = run.config.training.epochs,
                .steps = run.steps_per_epoch};
  if (!run.epochs.empty()) on_epoch(run);  // of an earlier process
  begin_slots();
  thread_ = make_thread("status.json", std::bind_front(&LiveStatus::write_until, this));
}

void LiveStatus::begin_slots() {
  const RankSlots slots(run_.ranks.size());
  status_.rank_stride = slots.stride;
  for (std::size_t rank = 0; rank < run_.ranks.size(); rank += slots.stride)
    status_.hosts.push_back(run_.ranks[rank].host);
  status_.useful.resize(slots.count);
  useful_.resize(slots.count);
  note_images();
}

/// They change with --balance speed.
void LiveStatus::note_images() {
  status_.images.clear();
  for (std::size_t rank = 0; rank < run_.ranks.size(); rank += status_.rank_stride)
    status_.images.push_back(run_.rank_batches.at(rank));
}

void LiveStatus::on_step(Progress& progress, std::span<const RankTimes> ranks) {
  const std::lock_guard lock(mutex_);
  if (!ranks.empty() && ranks.front().step() > 0) {
    add_window(ranks);
    // They are of the step before; of an epoch's last one they came with its records.
    if (progress.step > 1) pace_.add(progress.epoch, progress.step - 1, ranks);
  }
  progress.slowest = in_words(slow_.now());
  progress.left = pace_.left_after(progress.epoch, progress.step);
  status_.usual_step = pace_.usual_step();
  status_.evaluated = status_.to_evaluate = NAN;
  status_.at = progress;
  status_.last_step_at = unix_seconds();
  note_gap();
  status_.audit = audit_text(run_);
  if (!run_.checkpoints.empty()) status_.checkpoint = run_.checkpoints.back().path;
}

double LiveStatus::on_evaluation(std::size_t done, std::size_t of, double seconds) {
  const std::lock_guard lock(mutex_);
  status_.evaluated = double(done);
  status_.to_evaluate = double(of);
  status_.last_step_at = unix_seconds();
  status_.at.left = pace_.left_in_evaluation(status_.at.epoch, double(done), double(of), seconds);
  return status_.at.left;
}

std::optional<StepGap> LiveStatus::take_gap() {
  const std::lock_guard lock(mutex_);
  return pace_.take_gap();
}

void LiveStatus::on_epoch(const RunRecord& run) {
  const std::lock_guard lock(mutex_);
  const EpochRecord& epoch = run.epochs.back();
  add_last_step(epoch);
  pace_.compare_messages(epoch);
  if (epoch.test) pace_.add_evaluation(epoch.test->seconds);
  status_.evaluated = status_.to_evaluate = NAN;
  status_.last_step_at = unix_seconds();
  status_.at.left = pace_.left_after(epoch.epoch + 1, 0);
  note_gap();
  if (epoch.test) status_.val_accuracy = epoch.test->accuracy;
  status_.joules = run_energy(run).total();
  status_.gradient_noise = epoch.gradient_noise;
}

void LiveStatus::end(const RunRecord& run) {
  thread_ = {};  // joins
  status_.outcome = run.outcome;
  status_.failure = run.failure;
  if (!run.checkpoints.empty()) status_.checkpoint = run.checkpoints.back().path;
  write();
  log(LogLevel::warn, trouble_);
}

std::string LiveStatus::in_words(const std::optional<SlowRank::Streak>& streak) const {
  if (!streak) return "";
  const std::size_t rank = streak->slot * status_.rank_stride;
  return fmt::format("rank {} on {}, +{:.0f} % over the others for {} steps", rank,
                     run_.ranks[rank].host, 100 * streak->excess, streak->steps);
}

void LiveStatus::note_gap() {
  if (pace_.longest_gap()) status_.longest_gap = gap_text(*pace_.longest_gap(), run_.ranks);
}

/// Its times are in no sum of this epoch's.
void LiveStatus::add_last_step(const EpochRecord& epoch) {
  if (epoch.step_records.empty() || epoch.step_records.front().empty()) return;
  std::vector<RankTimes> ranks;
  for (std::size_t rank = 0; rank < epoch.step_records.size(); rank += status_.rank_stride)
    std::ranges::copy(epoch.step_records[rank].back().phases, ranks.emplace_back().phases.begin());
  pace_.add(epoch.epoch, epoch.steps, ranks);
}

void LiveStatus::add_window(std::span<const RankTimes> ranks) {
  std::vector<double> useful = values_of(ranks, [](const RankTimes& r) { return r.useful(); });
  for (std::size_t slot = 0; slot < ranks.size(); ++slot) useful_[slot] += useful[slot];
  for (std::size_t p = 0; p < kPhases; ++p)
    for (const RankTimes& r : ranks) phases_[p] += double(r.phases[p]) / double(ranks.size());
  window_seconds_ += ranks.front().step();
  ++window_steps_;
  note_images();
  slow_.add(useful, status_.images);
}

/// What it shows of the last steps is a mean over them.
void LiveStatus::close_window() {
  const auto steps = double(std::exchange(window_steps_, 0));
  for (std::size_t p = 0; p < kPhases; ++p) status_.phases[p] = phases_[p] / steps;
  const Spread useful = spread_of(useful_);
  const EfficiencySeconds sums{useful.mean, useful.max, NAN, window_seconds_};
  status_.load_balance = sums.load_balance();
  status_.communication = sums.communication();
  const auto microseconds = [&](double s) { return std::round(1e6 * s / steps) / 1e6; };
  std::ranges::transform(useful_, status_.useful.begin(), microseconds);
  std::ranges::fill(useful_, 0.0);
  phases_ = {};
  window_seconds_ = 0;
}

RunStatus LiveStatus::snapshot() {
  const std::lock_guard lock(mutex_);
  if (window_steps_ > 0) close_window();
  status_.written_at = unix_seconds();
  const ReduceNow now = journal_.now();
  const double waited = seconds_between(now.since, SteadyClock::now());
  const bool waits = now.act.kind != ReduceAct::Kind::none && waited > kLongWait;
  status_.waits_for =
      waits ? fmt::format("rank 0 has been in the sum for {:.0f} s{}", waited, place_of(now)) : "";
  return status_;
}

/// A failure leaves training as it is.
bool LiveStatus::write() {
  try {
    write_output(fs::path(run_.config.output.run_dir) / kStatusName, to_json(snapshot()));
    return true;
  } catch (const std::exception& error) {
    trouble_ = std::string(error.what()) + "; rueda watch does not see this run";
    return false;
  }
}

void LiveStatus::write_until(const std::stop_token& stop) {
  for (double begin = cpu_seconds(), next = 0; !stops_within(stop, next) && write();) {
    const double end = cpu_seconds();
    next = std::clamp((end - std::exchange(begin, end)) / kMostShare, kInterval, kLongestInterval);
  }
}

}  // namespace rueda
