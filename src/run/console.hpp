#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "display/run_text.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/trainer.hpp"
#include "run/live_status.hpp"
#include "run/wiring/device_choice.hpp"

namespace rueda {

class Session;

/// From now on this rank logs messages of `level` and above: rank 0 on the
/// terminal, and each rank in the file rank-N.log of `directory`, unless that
/// is empty. Throws InputError where the file cannot be written.
void open_log(LogLevel level, const std::string& directory, int rank);

/// Whether a message of this level goes anywhere.
bool is_logged(LogLevel level);

/// Logs one line. The terminal shows it as "note: TEXT" (LogLevel::info),
/// "warning: TEXT" and so on.
void log(LogLevel level, const std::string& text);

/// Writes the error that ends this process to standard error, from any rank and
/// at any level. It is written in one piece, so that a launcher's own text does
/// not come in between.
void print_error(const std::string& message);

/// Thrown in place of an error that the user has seen.
struct AlreadyReported {
  ExitCode code;
};

/// Does the `work` of one rank. An error that all ranks throw alike is printed
/// by one of them (and thrown as AlreadyReported). An error of this rank alone
/// is printed by it, and ends the job: peers may wait in a collective that it
/// will never reach.
void report_errors_of_ranks(Session& session, const std::function<void()>& work);

/// Calls `perform` between the start of MPI and its end. `prepare` comes before
/// MPI on this rank; an error of it is the device's, which `perform` is to throw
/// where all ranks can agree on it. Returns the exit code.
int in_session(BackendChoice backend, const std::function<void()>& prepare,
               const std::function<void(const SelectedDevice&)>& perform);

/// What rank 0 shows and writes while a run trains: the bar, a line per epoch,
/// status.json, and run.json and the CSV files after every epoch, so that an interrupted run
/// leaves what it had. Other ranks' consoles are silent.
class Console final : public TrainObserver {
 public:
  Console(const RunRecord& run, bool speaks, const ReduceJournal& journal);

  void on_step(const TrainPosition& position, std::span<const RankTimes> ranks) override;
  void on_evaluation(std::size_t done, std::size_t of, double seconds) override;
  void on_epoch(RunRecord& run) override;
  void on_remark(const std::string& text) override { report(LogLevel::warn, text); }
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
  void tell_gap();
  void tell_disturbance(const RunRecord& run);

  std::size_t epochs_;
  std::size_t epoch_ = 0;  ///< of the last step
  std::size_t steps_;
  ProgressChoice mode_;
  bool disturbed_ = false;          ///< and it was said
  std::optional<ProgressBar> bar_;  ///< where it speaks
  const ReduceJournal& journal_;
  std::optional<LiveStatus> live_;  ///< where it speaks, once the ranks are known
};

/// Notes for the start of a run: what the data reader remarked, then each
/// rank's own remark (empty: none), then those on resuming. A rank's that
/// equals its predecessor's appears once.
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

/// Writes run.json and epochs.csv of a run that begins, goes on or has ended into its
/// directory, and a steps.csv if no epoch did.
void write_run_files(const RunRecord& run);

/// From now on SIGTERM and SIGUSR1 ask the run to stop at the end of a step.
/// Another one, at least a second after the first, ends the process as usual;
/// launchers may pass one signal on twice.
void listen_for_stop_signals();

/// Whether one has come.
bool stop_requested();

}  // namespace rueda
