#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rueda/display/progress.hpp"
#include "rueda/train/trainer.hpp"

namespace rueda {

/// What rank 0 shows and writes while a run trains: the bar, a line per epoch, and run.json and
/// steps.csv after every epoch, so that an interrupted run leaves what it had. Other ranks'
/// consoles are silent.
class Console final : public TrainObserver {
 public:
  Console(const RunRecord& run, bool speaks);

  void on_step(const StepProgress& progress) override;
  void on_epoch(RunRecord& run) override;
  /// The start block, the warnings that are not empty, and the notes.
  void begin(const RunRecord& run, const std::vector<std::string>& warnings,
             const std::vector<std::string>& notes);
  /// Files and tables of a run that has ended.
  void end(const RunRecord& run);
  /// Leaves run.json with the reason of a failure, if that can be written.
  void fail(RunRecord& run, const std::string& reason);

 private:
  /// Text below the bar.
  void say(const std::string& text);
  /// A line of the log, on every rank.
  void report(LogLevel level, const std::string& text);
  void write_files(const RunRecord& run);

  bool speaks_;
  std::size_t epochs_;
  std::size_t steps_;
  ProgressChoice mode_;
  std::optional<ProgressBar> bar_;
};

/// Notes for the start of a run: what the data reader remarked, then each rank's own remark (empty:
/// none), then those on resuming. A rank's that equals its predecessor's appears once.
inline std::vector<std::string> remark_lines(const std::vector<std::string>& of_data,
                                             const std::vector<std::string>& of_ranks,
                                             const std::vector<std::string>& of_resuming) {
  std::vector<std::string> lines = of_data;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const bool repeated = rank > 0 && of_ranks[rank] == of_ranks[rank - 1];
    if (of_ranks[rank].empty() || repeated) continue;
    lines.push_back("rank " + std::to_string(rank) + ": " + of_ranks[rank]);
  }
  lines.insert(lines.end(), of_resuming.begin(), of_resuming.end());
  return lines;
}

/// Writes run.json of a run that has ended into its directory, and a steps.csv if no epoch did.
void write_run_files(const RunRecord& run);

/// From now on SIGTERM and SIGUSR1 ask the run to stop at the end of a step. Another one, at least
/// a second after the first, ends the process as usual; launchers may pass one signal on twice.
void listen_for_stop_signals();

/// Whether one has come.
bool stop_requested();

}  // namespace rueda
