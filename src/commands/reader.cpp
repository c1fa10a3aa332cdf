#include "commands/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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
#include "run/wiring/versions.hpp"

namespace rueda {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

constexpr int kRefused = 2;  // exit code of a script that was given bad input

// A Python on a file system that does not answer would be waited for without end.
constexpr std::chrono::seconds kProbeLimit{60}, kDrawLimit{3600}, kKillLimit{5};
constexpr std::chrono::milliseconds kBetweenLooks{5};

/// Every Python imports nothing from PYTHONPATH (-E) or from the current folder, which is the first
/// place of a program that is given as a word. It does from where `pip install --user` puts
/// libraries, which -I would leave out.
const char* const kProbe =
    "import sys; del sys.path[0]; import importlib.util; "
    "sys.exit(1 if sys.version_info < (3, 9) else"
    " 3 * any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))";
constexpr int kLacksLibraries = 3;

/// What RUEDA_PLOT_PYTHON names, or those that are usual: the first in PATH
/// need not be the system's, which has the system's matplotlib.
std::vector<std::string> pythons() {
  const char* named = std::getenv("RUEDA_PLOT_PYTHON");
  if (named != nullptr && *named != '\0') return {named};
  return {"python3", "/usr/bin/python3"};
}

/// In memory, without a name, from its beginning. A program that takes this one's place still has
/// it.
File temporary_file(std::string_view content) {
  File file(fdopen(memfd_create("rueda-reader", 0), "w+"), std::fclose);
  if (!file || std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
      std::fflush(file.get()) != 0) {
    throw RunError("Python: no temporary file can be written; is the memory full?");
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

/// The exit code of the probe for these libraries.
int probed(const std::string& python, const std::vector<std::string>& libraries) {
  std::vector<std::string> words = {python, "-E", "-c", kProbe};
  words.insert(words.end(), libraries.begin(), libraries.end());
  return run(words, "", kProbeLimit).code;
}

/// The first Python that has matplotlib.
std::optional<std::string> find_python() {
  for (const std::string& python : pythons())
    if (probed(python, {"matplotlib"}) == 0) return python;
  return std::nullopt;
}

/// The first Python that has what the reader computes with, else the first: the reader prints its
/// help without libraries, and names those that lack.
std::optional<std::string> readers_python() {
  std::optional<std::string> found;
  for (const std::string& python : pythons()) {
    const int code = probed(python, {"numpy", "pandas", "jinja2"});
    if (code == 0) return python;
    if (code == kLacksLibraries && !found) found = python;
  }
  return found;
}

/// The archive that Python runs; it does so from a file only.
File archive() {
  return temporary_file({reinterpret_cast<const char*>(kReaderArchive), sizeof kReaderArchive});
}

/// The last line that is not empty: the reason, after warnings or a traceback.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.rfind('\n') + 1);  // of one line, from its beginning
}

}  // namespace

bool is_readers_command(const std::string& word) {
  return std::ranges::find(kReaderCommands, word, &ReaderCommand::name) != kReaderCommands.end();
}

void become_reader(const std::vector<std::string>& words) {
  const auto python = readers_python();
  if (!python)
    throw InputError(fmt::format(
        "rueda {} runs in Python 3.9 or newer, and {} is none: install python3 (with "
        "python3-numpy, "
        "python3-pandas, python3-jinja2 and python3-matplotlib), or name one in RUEDA_PLOT_PYTHON",
        words.front(), fmt::join(pythons(), " or ")));
  const File program = archive();
  std::error_code unknown;
  setenv("RUEDA_PROGRAM", std::filesystem::read_symlink("/proc/self/exe", unknown).c_str(), 1);
  setenv("RUEDA_VERSION", program_version().c_str(), 1);
  std::vector<std::string> all = {*python, "-E",
                                  fmt::format("/proc/self/fd/{}", fileno(program.get()))};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw RunError(fmt::format("{} cannot be started: {}", *python, std::strerror(errno)));
}

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
  const File program = archive();
  std::vector<std::string> words = {
      *python, "-E", path_of(program), "--for", std::to_string(getpid()), script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run(words, input, kDrawLimit);
  if (outcome.code == 0) return outcome.printed;
  std::string reason = script + ": " + *python + " ended without a word";
  if (!outcome.said.empty()) reason = last_line(outcome.said);
  if (outcome.code == kRefused) throw InputError(reason);
  throw RunError(reason);
}

}  // namespace rueda
