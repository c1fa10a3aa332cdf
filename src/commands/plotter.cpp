#include "commands/plotter.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "reader_archive.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

constexpr int kRefused = 2;  // exit code of a script that was given bad input

// A Python on a file system that does not answer would be waited for without end.
constexpr std::chrono::seconds kProbeLimit{60}, kDrawLimit{3600}, kKillLimit{5};
constexpr std::chrono::milliseconds kBetweenLooks{5};

/// Every Python is isolated (-I): it imports nothing from the current folder or PYTHONPATH.
const char* const kProbe =
    "import importlib.util, sys; sys.exit(importlib.util.find_spec('matplotlib') is None)";

/// What RUEDA_PLOT_PYTHON names, or those that are usual: the first in PATH
/// need not be the system's, which has the system's matplotlib.
std::vector<std::string> pythons() {
  const char* named = std::getenv("RUEDA_PLOT_PYTHON");
  if (named != nullptr && *named != '\0') return {named};
  return {"python3", "/usr/bin/python3"};
}

/// In memory, without a name, from its beginning.
File temporary_file(std::string_view content) {
  File file(fdopen(memfd_create("rueda-plot", 0), "w+"), std::fclose);
  if (!file || std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
      std::fflush(file.get()) != 0) {
    throw RunError("plots: no temporary file can be written; is the memory full?");
  }
  std::rewind(file.get());
  return file;
}

std::string path_of(const File& file) {
  return fmt::format("/proc/{}/fd/{}", getpid(), fileno(file.get()));
}

struct Outcome {
  int code = -1;        ///< exit code; -1 if it did not start or was killed
  std::string printed;  ///< on its standard output
  std::string said;     ///< on its standard error
};

std::string content_of(const File& file) {
  std::ifstream stream(path_of(file));
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The exit code; -1 of a process that was killed, which this function does after `limit`.
int code_of(pid_t process, std::chrono::seconds limit) {
  const Stopwatch watch;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(process, &status, WNOHANG)) == 0) {
    if (watch.seconds() > double(limit.count())) ::kill(process, SIGKILL);
    if (watch.seconds() > double((limit + kKillLimit).count())) return -1;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return ended == process && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Outcome run(std::vector<std::string> words, std::string_view input, std::chrono::seconds limit) {
  const File in = temporary_file(input), out = temporary_file(""), err = temporary_file("");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), STDERR_FILENO);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {};
  const int code = code_of(process, limit);
  return {code, content_of(out), content_of(err)};
}

std::optional<std::string> find_python() {
  for (const std::string& python : pythons()) {
    if (run({python, "-I", "-c", kProbe}, "", kProbeLimit).code == 0) return python;
  }
  return std::nullopt;
}

/// The last line that is not empty: the reason, after warnings or a traceback.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.rfind('\n') + 1);  // of one line, from its beginning
}

}  // namespace

bool plotter_available() { return find_python().has_value(); }

void check_plotter(const std::string& option, const std::string& otherwise) {
  if (plotter_available()) return;
  throw InputError(
      fmt::format("{}: no matplotlib in {}; install it, or name a Python that has it in "
                  "RUEDA_PLOT_PYTHON, or {}",
                  option, fmt::join(pythons(), " and "), otherwise));
}

void check_plot(const std::string& script, const std::string& file) {
  if (file.empty()) return;
  const auto ending = std::filesystem::path(file).extension();  // none of a mere ".png"
  require(ending == ".png" || ending == ".pdf" || ending == ".svg",
          "--plot " + file + ": give a name that ends in .png, .pdf or .svg");
  check_output_file("--plot", file);
  check_plotter("--plot", "write --json and draw elsewhere with jobs/" + script + ".py");
}

void draw_plot(const std::string& script, const std::string& file, const std::string& json) {
  if (file.empty()) return;
  try {
    run_plot_script(script, {file}, json);
  } catch (const Error& error) {
    throw RunError("--plot " + file + ": it could not be drawn: " + error.what());
  }
}

std::string run_plot_script(const std::string& script, const std::vector<std::string>& arguments,
                            const std::string& input) {
  const auto python = find_python();
  if (!python) check_plotter(script, "draw elsewhere with jobs/" + script + ".py");
  // Python runs an archive from a file only.
  const File archive =
      temporary_file({reinterpret_cast<const char*>(kReaderArchive), sizeof kReaderArchive});
  std::vector<std::string> words = {
      *python, "-I", path_of(archive), "--for", std::to_string(getpid()), script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run(words, input, kDrawLimit);
  if (outcome.code == 0) return outcome.printed;
  std::string reason = script + ": " + *python + " ended without a word";
  if (!outcome.said.empty()) reason = last_line(outcome.said);
  if (outcome.code == kRefused) throw InputError(reason);
  throw RunError(reason);
}

}  // namespace rueda
