#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "record/run_pace.hpp"
#include "record/run_status.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Keeps status.json of a run directory up to date, from a thread of its own so
/// that a slow disk never delays training: once a second, or so seldom that it
/// takes at most 0.1 % of the time of a core, but at least every five seconds.
class LiveStatus {
 public:
  /// `run` has its ranks; it and `journal` outlive this.
  LiveStatus(const RunRecord& run, const ReduceJournal& journal);

  /// As TrainObserver::on_step. Fills in `Progress::slowest`.
  void on_step(Progress& progress, std::span<const RankTimes> ranks);
  /// As TrainObserver::on_evaluation. Returns the seconds that are left of the run.
  double on_evaluation(std::size_t done, std::size_t of, double seconds);
  void on_epoch(const RunRecord& run);
  /// The last one: `run` has its outcome. Warns if the file could not be written.
  void end(const RunRecord& run);

  /// The longest gap between steps, if it is new since the last call.
  std::optional<StepGap> take_gap();
  const std::optional<StepGap>& longest_gap() const { return pace_.longest_gap(); }
  const std::vector<RankInfo>& ranks() const { return run_.ranks; }
  /// "rank 3 on b, +23 % over the others for 5 steps"; empty: none was slow.
  std::string slow_rank_of_epoch() { return in_words(slow_.take_longest()); }

 private:
  std::string in_words(const std::optional<SlowRank::Streak>& streak) const;
  void begin_slots();
  void note_images();
  void note_gap();
  void add_last_step(const EpochRecord& epoch);
  void add_window(std::span<const RankTimes> ranks);
  void close_window();
  RunStatus snapshot();
  bool write();
  void write_until(const std::stop_token& stop);

  const RunRecord& run_;
  const ReduceJournal& journal_;
  SlowRank slow_;
  RunPace pace_;
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
