#include <chrono>
#include <ostream>
#include <thread>

#include "commands.hpp"
#include "rueda/core/files.hpp"
#include "rueda/display/run_text.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

/// Over the last one, line by line, so that nothing flickers.
std::string redrawn(const std::string& text) {
  std::string screen = "\x1b[H";
  for (const char c : text) screen += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return screen + "\x1b[J";
}

}  // namespace

void validate(const WatchOptions& options) {
  require(options.interval >= 0.1 && options.interval <= 3600,
          "--interval must be from 0.1 to 3600 seconds");
}

void run_command(const WatchOptions& options, std::ostream& out) {
  if (options.json != "-") check_output_file("--json", options.json);
  const bool screen = !options.once && Terminal::behind_stdout().interactive();
  for (bool first = true;; first = false) {
    const RunStatus status = read_status(options.run_directory);
    const std::string text = status_text(status, unix_seconds(), screen);
    if (options.json == "-")
      out << to_json(status);
    else if (!options.json.empty())
      write_output(options.json, to_json(status));
    else
      out << (first && screen ? "\x1b[2J" : "") << (screen ? redrawn(text) : text) << std::flush;
    if (!screen || !options.json.empty() || status.outcome != "running") return;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
  }
}

}  // namespace rueda
