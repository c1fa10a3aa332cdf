#include "commands/watch.hpp"

#include <algorithm>
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

/// Over the last one, line by line, so that nothing flickers; the head stays where there are more
/// than `rows` lines. The terminal cuts a word that is too long, and wraps again afterwards.
std::string redrawn(const std::string& text, int rows) {
  std::string screen = "\x1b[?7l\x1b[H";
  int line = 1;
  for (const char c : text) {
    if (c == '\n' && ++line >= rows) break;
    if (c == '\n') screen += "\x1b[K";  // what the last one had here
    screen += c;
  }
  return screen + "\x1b[J\x1b[?7h";
}

/// A screen at every interval until the run has ended.
void show_screens(const WatchOptions& options, RunStatus status, const Terminal& terminal,
                  std::ostream& out) {
  StatusSilence silence;
  const bool colours = Terminal::has_colours();
  out << "\x1b[2J";
  for (;;) {
    const double silent = silence.look(to_json(status), steady_seconds());
    const auto columns = std::size_t(std::max(terminal.width() - 1, 1));
    const std::string text = status_text(status, silent, colours, columns);
    out << redrawn(text, terminal.height()) << std::flush;
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
  const Terminal terminal = Terminal::of_stdout();
  if (options.json == "-")
    out << to_json(status);
  else if (!options.json.empty())
    write_output(options.json, to_json(status));
  else if (!options.once && terminal.interactive())
    show_screens(options, status, terminal, out);
  else
    show_once(options, status, out);
}

}  // namespace rueda
