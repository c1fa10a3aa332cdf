#pragma once

#include <string>

namespace rueda {

/// What a run shows between its start block and its result table.
enum class ProgressMode {
  bar,    ///< a line redrawn in place, and a line per epoch
  lines,  ///< a line per epoch; no control characters
  off,    ///< nothing
};

/// A terminal that a person looks at, or the lack of one.
class Terminal {
 public:
  /// No terminal.
  Terminal() = default;
  /// The terminal behind a path such as /dev/pts/3, or none if something else is there.
  explicit Terminal(const std::string& path);

  /// The terminal at which this process's standard output ends.
  ///
  /// Open MPI's mpirun gives the ranks of its own node a pseudo-terminal as standard output, also
  /// where its own goes to a file or a pipe. So under it the answer is that of the nearest ancestor
  /// whose standard output is another one: the launcher. There is none either where the launcher
  /// decorates or copies its ranks' output (--tag-output, --timestamp-output, --xml,
  /// --output-filename), where TERM is "dumb", and where /proc cannot tell.
  static Terminal behind_stdout();

  bool interactive() const noexcept { return !path_.empty(); }
  /// Columns now: the environment's COLUMNS if it is a positive number, else what the terminal
  /// says, else 80.
  int width() const;

 private:
  std::string path_;
};

/// The mode for a `--progress` word: `auto` is `bar` on a terminal and `lines` elsewhere; the
/// others stand for themselves. Throws InputError for any other word.
ProgressMode progress_mode(const std::string& word, const Terminal& terminal);

}  // namespace rueda
