#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "display/run_text.hpp"
#include "record/write_pace.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/trainer.hpp"
#include "run/live_status.hpp"

namespace rueda {

/// Rank 0 shows and writes while a run trains: the bar, a line per epoch,
/// status.json, and run.json and the CSV files after every epoch (run.json after some, where
/// epochs are very short), so that an interrupted run leaves what it had. Other ranks' consoles are
/// silent.
class Console final : public TrainObserver {
 public:
  Console(const RunRecord& run, bool speaks, const ReduceJournal& journal);

  void on_step(const TrainPosition& position, std::span<const RankTimes> ranks) override;
  void on_evaluation(std::size_t done, std::size_t of, double seconds) override;
  void on_epoch(RunRecord& run) override;
  /// The start block.
  void begin(const RunRecord& run);
  /// Files and tables of a run that has ended.
  void end(const RunRecord& run);
  /// Leaves run.json with the reason of a failure, if that can be written.
  void fail(RunRecord& run, const std::string& reason);

 private:
  /// Text below the bar.
  void say(const std::string& text);
  void write_files(const RunRecord& run);
  void tell_gap();
  void tell_disturbance(const RunRecord& run);

  std::size_t epochs_;
  std::size_t epoch_ = 0;  ///< of the last step
  std::size_t steps_;
  WritePace pace_;
  ProgressChoice mode_;
  bool disturbed_ = false;          ///< and it was said
  std::optional<ProgressBar> bar_;  ///< where it speaks
  std::optional<BeforeLogLine> clears_bar_;
  const ReduceJournal& journal_;
  std::optional<LiveStatus> live_;  ///< where it speaks, once the ranks are known
};

/// Writes run.json and epochs.csv of a run that begins, goes on or has ended into its
/// directory, and a steps.csv if no epoch did.
void write_run_files(const RunRecord& run);

}  // namespace rueda
