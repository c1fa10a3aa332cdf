#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "record/run_status.hpp"

namespace rueda {

/// The terminal of the user, or none.
class Terminal {
 public:
  /// No terminal.
  Terminal() = default;
  /// The terminal at a path such as /dev/pts/3, or none if the path is something else.
  explicit Terminal(const std::string& path);

  /// The terminal at which this process's standard output ends.
  ///
  /// Open MPI's mpirun gives the ranks of its own node a pseudo-terminal as standard output, even
  /// where its own goes to a file or a pipe. So under mpirun the answer is that of the launcher:
  /// the nearest ancestor with another standard output. There is no terminal where the launcher
  /// changes or copies its ranks' output (--tag-output, --timestamp-output, --xml,
  /// --output-filename), where TERM is "dumb", and where /proc has no answer.
  static Terminal of_stdout();

  bool interactive() const noexcept { return !path_.empty(); }
  /// Columns now: the environment's COLUMNS if it is a positive number, else
  /// what the terminal says, else 80.
  int width() const;
  /// Rows now: what the terminal says, else 24.
  int height() const;
  /// Whether it shows the 256 colours of xterm, by TERM, and NO_COLOR (no-color.org) is not set.
  static bool has_colours();

 private:
  std::string path_;
};

/// What `--progress` stands for here: `automatic` is `bar` on a terminal and `lines` elsewhere.
ProgressChoice progress_mode(ProgressChoice wanted, const Terminal& terminal);

/// `Epoch 2/3 [=====>    ] 12/20 - loss: 1.2345 - 812 images/s - 0:05 left`,
/// shortened from the right and by its bar until it has at most `columns`
/// characters.
std::string progress_text(const Progress& progress, int columns);

/// The line that rank 0 redraws in place while an epoch runs, at most ten times
/// a second. In any mode but `bar` it writes nothing at all.
class ProgressBar {
 public:
  /// `out` must outlive the bar and end at `terminal`.
  ProgressBar(std::ostream& out, const Terminal& terminal, ProgressChoice mode);
  ProgressBar(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Redraws, unless less than 0.1 s of the same epoch passed since the last
  /// time. The last step of an epoch is always drawn.
  void update(const Progress& progress);
  /// Clears the line for other text. Call before any other output.
  void clear();

 private:
  bool due(const Progress& progress) const noexcept;

  std::ostream& out_;
  Terminal terminal_;
  bool drawing_;
  std::size_t shown_ = 0;  ///< characters on the line now
  std::size_t last_epoch_ = 0;
  double last_seconds_ = 0;
};

/// The line of an epoch in the shape that Keras users know, without a line end:
/// `Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - loss: 1.2345 - accuracy:
/// 0.5512 - 798 images/s (399 per rank) - val_loss: 1.1000 - val_accuracy:
/// 0.6000`. The time is that of training steps only; the last two appear where
/// the epoch was evaluated.
std::string epoch_line(const EpochRecord& epoch, std::size_t epochs, std::size_t ranks);

/// The text before the first epoch: model, data, a line per rank, batches,
/// learning rate, optimizer, all-reduce, run directory. From nine ranks on,
/// ranks that differ only in their number share a line; if these are more than
/// eight lines, hosts share lines too.
std::string start_block(const RunRecord& run);

/// The text at the end of a run: the time of a step by
/// phases (steady epochs, full steps), totals, communication, files. Epochs have had their lines.
/// Leaves out what a run without a finished epoch does not have.
std::string result_table(const RunRecord& run);
/// What the words in it mean.
std::string result_terms();

/// How far a run is, one screen: where it stands, its step by phases, what of
/// its time was useful, and a character for each rank, from . (even) to @ (slow).
/// `silent`: as StatusSilence says. `colours`: of a terminal. Texts are folded at `columns`.
std::string status_text(const RunStatus& status, double silent, bool colours,
                        std::size_t columns = 80);

/// The gradient noise scale of an epoch for people, or why it is not determined; empty where it was
/// not measured.
std::string noise_text(const std::optional<GradientNoise>& noise, std::size_t ranks);
/// The same of a run's last epoch, with a warning where the learning rate was scaled to a batch
/// above the interval.
std::string noise_text(const RunRecord& run);

/// How many steps were audited, and whether anything was found. Empty without --audit-every.
std::string audit_text(const RunRecord& run);

/// The input mode of a run, and which threads make its batches: a line of both texts.
std::string input_mode_text(const TrainConfig& config);

/// A warning for readers of a run of the timed backend: what was timed, and
/// that nothing was computed. Stands in both texts.
std::string timed_text(const RunRecord& run);

}  // namespace rueda
