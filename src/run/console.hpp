#pragma once

#include <filesystem>
#include <optional>

#include "rueda/display/progress.hpp"
#include "rueda/train/observer.hpp"

namespace rueda {

/// What rank 0 shows and writes while a run trains: the bar, a line per epoch, and run.json and
/// steps.csv after every epoch, so that an interrupted run leaves what it had. Other ranks'
/// consoles are silent.
class Console final : public TrainObserver {
 public:
  Console(const RunRecord& run, bool speaks);

  void on_step(const StepProgress& progress) override;
  void on_epoch(RunRecord& run) override;
  /// Text of its own, outside the bar.
  void say(const std::string& text);

 private:
  bool speaks_;
  std::size_t epochs_;
  std::size_t steps_;
  ProgressMode mode_;
  std::optional<ProgressBar> bar_;
};

/// Writes run.json of a run that has ended into its directory, and a steps.csv if no epoch did.
void write_run_files(const RunRecord& run);

}  // namespace rueda
