#include "commands/watch.hpp"

#include <chrono>
#include <ostream>
#include <thread>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "display/run_text.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

constexpr std::chrono::milliseconds kLookAgain(200);

/// Over the last one, line by line, so that nothing flickers.
std::string redrawn(const std::string& text) {
  std::string screen = "\x1b[H";
  for (const char c : text) {
    if (c == '\n') screen += "\x1b[K";  // what the last one had here
    screen += c;
  }
  return screen + "\x1b[J";
}

/// A screen at every interval until the run has ended.
void show_screens(const WatchOptions& options, RunStatus status, std::ostream& out) {
  StatusSilence silence;
  out << "\x1b[2J";
  for (;;) {
    const double silent = silence.look(to_json(status), steady_seconds());
    out << redrawn(status_text(status, silent, true)) << std::flush;
    if (status.outcome != "running") return;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    status = read_status(options.run_directory);
  }
}

/// A run that seems to run is looked at until something changes, or for so long
/// that it would have.
void show_once(const WatchOptions& options, RunStatus status, std::ostream& out) {
  StatusSilence silence;
  for (;;) {
    const double silent = silence.look(to_json(status), steady_seconds());
    const bool judged = silence.changed() || silent >= StatusSilence::kLate;
    if (judged || status.outcome != "running") {
      out << status_text(status, silent, false) << std::flush;
      return;
    }
    std::this_thread::sleep_for(kLookAgain);
    status = read_status(options.run_directory);
  }
}

}  // namespace

void validate(const WatchOptions& options) {
  require(options.interval >= 0.1 && options.interval <= 3600,
          "--interval must be from 0.1 to 3600 seconds");
}

void run_command(const WatchOptions& options, std::ostream& out) {
  if (options.json != "-") check_output_file("--json", options.json);
  const RunStatus status = read_status(options.run_directory);
  if (options.json == "-")
    out << to_json(status);
  else if (!options.json.empty())
    write_output(options.json, to_json(status));
  else if (!options.once && Terminal::of_stdout().interactive())
    show_screens(options, status, out);
  else
    show_once(options, status, out);
}

}  // namespace rueda
