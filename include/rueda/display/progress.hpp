#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "terminal.hpp"

namespace rueda {

/// How far an epoch is.
struct Progress {
  std::size_t epoch = 0;  ///< from 1
  std::size_t epochs = 0;
  std::size_t step = 0;  ///< steps done
  std::size_t steps = 0;
  double loss = 0;         ///< running mean of this epoch, all ranks
  std::size_t images = 0;  ///< done in this epoch, all ranks
  double seconds = 0;      ///< spent on them
};

/// `Epoch 2/3 [=====>    ] 12/20 - loss: 1.2345 - 812 images/s - 0:05 left`, shortened from the
/// right and by its bar until it has at most `columns` characters.
std::string progress_text(const Progress& progress, int columns);

/// The line that rank 0 redraws in place while an epoch runs, at most ten times a second. In any
/// mode but `bar` it writes nothing at all.
class ProgressBar {
 public:
  /// `out` must outlive the bar and end at `terminal`.
  ProgressBar(std::ostream& out, const Terminal& terminal, ProgressMode mode);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Redraws, unless less than 0.1 s of the same epoch passed since the last time. The last step of
  /// an epoch is always drawn.
  void update(const Progress& progress);
  /// Wipes the line, so that other text can take its place. Call before any other output.
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

}  // namespace rueda
