#pragma once

#include <iosfwd>
#include <string>

namespace rueda {

/// The options of `rueda watch`.
struct WatchOptions {
  std::string run_directory;
  bool once = false;
  std::string json;     ///< file to write, "-": standard output; empty: none
  double interval = 1;  ///< seconds between screens
};

void validate(const WatchOptions& options);

/// Shows how far a run is, from the files of its directory alone: on a terminal
/// a screen that refreshes until the run ends, else one text. Throws InputError
/// where there is no status of a run.
void run_command(const WatchOptions& options, std::ostream& out);

}  // namespace rueda
