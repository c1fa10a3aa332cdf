#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "commands/commands.hpp"
#include "plot_archive.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

constexpr int kRefused = 2;  // exit code of a script that was given bad input

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
  int code = -1;     ///< exit code; -1 if it did not start or was killed
  std::string said;  ///< on its standard error
};

Outcome run(std::vector<std::string> words, std::string_view input) {
  const File in = temporary_file(input), err = temporary_file("");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), STDERR_FILENO);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || waitpid(process, &status, 0) != process) return {};
  std::ifstream said(path_of(err));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {std::istreambuf_iterator<char>(said), {}}};
}

std::optional<std::string> find_python() {
  for (const std::string& python : pythons()) {
    if (run({python, "-I", "-c", kProbe}, "").code == 0) return python;
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

void run_plot_script(const std::string& script, const std::vector<std::string>& arguments,
                     const std::string& input) {
  const auto python = find_python();
  if (!python) check_plotter(script, "draw elsewhere with jobs/" + script + ".py");
  // Python runs an archive from a file only.
  const File archive =
      temporary_file({reinterpret_cast<const char*>(kPlotArchive), sizeof kPlotArchive});
  std::vector<std::string> words = {*python, "-I", path_of(archive), script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run(words, input);
  if (outcome.code == 0) return;
  std::string reason = script + ": " + *python + " ended without a word";
  if (!outcome.said.empty()) reason = last_line(outcome.said);
  if (outcome.code == kRefused) throw InputError(reason);
  throw RunError(reason);
}

}  // namespace rueda
