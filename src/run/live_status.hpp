#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/start_thread.hpp"
#include "display/run_text.hpp"
#include "mpi/session/watchdog.hpp"
#include "record/aggregation.hpp"
#include "record/run_pace.hpp"
#include "record/run_status.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// Keeps status.json of a run directory up to date, from a thread of its own so
/// that a slow disk never delays training: once a second, or so seldom that it
/// takes at most 0.1 % of the time of a core, but at least every five seconds.
class LiveStatus {
 public:
  /// `run` has its ranks; it and `journal` outlive this.
  LiveStatus(const RunRecord& run, const ReduceJournal& journal)
      : run_(run),
        journal_(journal),
        pace_({run.config.epochs, run.steps_per_epoch, run.config.eval_every},
              RankSlots(run.ranks.size()).stride) {
    const RankSlots slots(run.ranks.size());
    status_.model = run.config.model;
    status_.all_reduce = run.all_reduce;
    status_.world_size = run.ranks.size();
    status_.global_batch = run.global_batch;
    status_.started_at = unix_seconds();
    status_.at = {.epoch = std::min(run.epochs.size() + 1, run.config.epochs),
                  .epochs = run.config.epochs,
                  .steps = run.steps_per_epoch};
    if (!run.epochs.empty()) on_epoch(run);  // of an earlier process
    status_.rank_stride = slots.stride;
    for (std::size_t rank = 0; rank < run.ranks.size(); rank += slots.stride)
      status_.hosts.push_back(run.ranks[rank].host);
    status_.useful.resize(slots.count);
    useful_.resize(slots.count);
    for (std::size_t slot = 0; slot < slots.count; ++slot)
      images_.push_back(run.rank_batches.at(slot * slots.stride));
    thread_ = make_thread("status.json", std::bind_front(&LiveStatus::write_until, this));
  }

  /// As TrainObserver::on_step. Fills in `Progress::slowest`.
  void on_step(Progress& progress, std::span<const RankTimes> ranks) {
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
    status_.audit = audit_text(run_);
    if (!run_.checkpoints.empty()) status_.checkpoint = run_.checkpoints.back().path;
  }
  /// As TrainObserver::on_evaluation. Returns the seconds that are left of the run.
  double on_evaluation(std::size_t done, std::size_t of, double seconds) {
    const std::lock_guard lock(mutex_);
    status_.evaluated = double(done);
    status_.to_evaluate = double(of);
    status_.last_step_at = unix_seconds();
    status_.at.left = pace_.left_in_evaluation(status_.at.epoch, double(done), double(of), seconds);
    return status_.at.left;
  }
  /// The longest gap between steps, if it is new since the last call.
  std::optional<StepGap> take_gap() {
    const std::lock_guard lock(mutex_);
    return pace_.take_gap();
  }
  const std::optional<StepGap>& longest_gap() const { return pace_.longest_gap(); }
  void on_epoch(const RunRecord& run) {
    const std::lock_guard lock(mutex_);
    const EpochRecord& epoch = run.epochs.back();
    add_last_step(epoch);
    if (epoch.test) pace_.add_evaluation(epoch.test->seconds);
    status_.evaluated = status_.to_evaluate = NAN;
    status_.last_step_at = unix_seconds();
    status_.at.left = pace_.left_after(epoch.epoch + 1, 0);
    if (epoch.test) status_.val_accuracy = epoch.test->accuracy;
    status_.joules = run_energy(run).total();
  }
  /// The last one: `run` has its outcome. Returns why the file could not be
  /// written; empty: it could.
  std::string end(const RunRecord& run) {
    thread_ = {};  // joins
    status_.outcome = run.outcome;
    status_.failure = run.failure;
    if (!run.checkpoints.empty()) status_.checkpoint = run.checkpoints.back().path;
    write();
    return trouble_;
  }

  const std::vector<RankInfo>& ranks() const { return run_.ranks; }
  /// "rank 3 on b, +23 % over the others for 5 steps"; empty: none was slow.
  std::string slow_rank_of_epoch() { return in_words(slow_.take_longest()); }

 private:
  static constexpr double kInterval = 1, kLongestInterval = 5;
  static constexpr double kMostShare = 0.001;  // of a core
  static constexpr double kLongWait = 2;

  /// Of this thread.
  static double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
  }
  std::string in_words(const std::optional<SlowRank::Streak>& streak) const {
    if (!streak) return "";
    const std::size_t rank = streak->slot * status_.rank_stride;
    return fmt::format("rank {} on {}, +{:.0f} % over the others for {} steps", rank,
                       run_.ranks[rank].host, 100 * streak->excess, streak->steps);
  }
  /// Its times are in no sum of this epoch's.
  void add_last_step(const EpochRecord& epoch) {
    if (epoch.step_records.empty() || epoch.step_records.front().empty()) return;
    std::vector<RankTimes> ranks;
    for (std::size_t rank = 0; rank < epoch.step_records.size(); rank += status_.rank_stride)
      std::ranges::copy(epoch.step_records[rank].back().phases,
                        ranks.emplace_back().phases.begin());
    pace_.add(epoch.epoch, epoch.steps, ranks);
  }
  void add_window(std::span<const RankTimes> ranks) {
    std::vector<double> useful = values_of(ranks, [](const RankTimes& r) { return r.useful(); });
    for (std::size_t slot = 0; slot < ranks.size(); ++slot) useful_[slot] += useful[slot];
    for (std::size_t p = 0; p < kPhases; ++p)
      for (const RankTimes& r : ranks) phases_[p] += double(r.phases[p]) / double(ranks.size());
    window_seconds_ += ranks.front().step();
    ++window_steps_;
    slow_.add(useful, images_);
  }
  /// What it shows of the last steps is a mean over them.
  void close_window() {
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
  RunStatus snapshot() {
    const std::lock_guard lock(mutex_);
    if (window_steps_ > 0) close_window();
    status_.written_at = unix_seconds();
    const ReduceNow now = journal_.now();
    const double waited = seconds_between(now.since, SteadyClock::now());
    const bool waits = now.act.kind != ReduceAct::Kind::none && waited > kLongWait;
    status_.waits_for =
        waits ? fmt::format("rank 0 has been in the sum for {:.0f} s{}", waited, place_of(now))
              : "";
    return status_;
  }
  /// A failure leaves training as it is.
  bool write() {
    try {
      write_output(fs::path(run_.config.run_dir) / kStatusName, to_json(snapshot()));
      return true;
    } catch (const std::exception& error) {
      trouble_ = std::string(error.what()) + "; rueda watch does not see this run";
      return false;
    }
  }
  void write_until(const std::stop_token& stop) {
    for (double begin = cpu_seconds(), next = 0; !stops_within(stop, next) && write();) {
      const double end = cpu_seconds();
      next =
          std::clamp((end - std::exchange(begin, end)) / kMostShare, kInterval, kLongestInterval);
    }
  }

  const RunRecord& run_;
  const ReduceJournal& journal_;
  SlowRank slow_;
  RunPace pace_;
  std::vector<std::size_t> images_;  ///< of a full step, of each slot
  std::mutex mutex_;
  RunStatus status_;
  std::string trouble_;
  // Sums over the steps since the last writing.
  std::size_t window_steps_ = 0;
  double window_seconds_ = 0;
  PhaseSeconds phases_{};
  std::vector<double> useful_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace rueda
