#include <chrono>
#include <ostream>
#include <thread>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "commands/commands.hpp"
#include "display/run_text.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

constexpr std::chrono::milliseconds kLookAgain(200);

/// Over the last one, line by line, so that nothing flickers.
std::string redrawn(const std::string& text) {
  std::string screen = "\x1b[H";
  for (const char c : text) screen += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return screen + "\x1b[J";
}

/// What a single text shows: a run that seems to run is looked at until something
/// changes, or for so long that it would have.
double settle(RunStatus& status, StatusSilence& silence, const std::string& run_directory) {
  for (;;) {
    const double silent = silence.look(to_json(status), steady_seconds());
    const bool judged = silence.changed() || silent >= StatusSilence::kLate;
    if (judged || status.outcome != "running") return silent;
    std::this_thread::sleep_for(kLookAgain);
    status = read_status(run_directory);
  }
}

}  // namespace

void validate(const WatchOptions& options) {
  require(options.interval >= 0.1 && options.interval <= 3600,
          "--interval must be from 0.1 to 3600 seconds");
}

void run_command(const WatchOptions& options, std::ostream& out) {
  if (options.json != "-") check_output_file("--json", options.json);
  const bool screen = !options.once && Terminal::behind_stdout().interactive();
  StatusSilence silence;
  for (bool first = true;; first = false) {
    RunStatus status = read_status(options.run_directory);
    if (options.json == "-") return void(out << to_json(status));
    if (!options.json.empty()) return write_output(options.json, to_json(status));
    const double silent = screen ? silence.look(to_json(status), steady_seconds())
                                 : settle(status, silence, options.run_directory);
    const std::string text = status_text(status, silent, screen);
    out << (first && screen ? "\x1b[2J" : "") << (screen ? redrawn(text) : text) << std::flush;
    if (!screen || status.outcome != "running") return;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
  }
}

}  // namespace rueda
