#include "plot.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plot_script.hpp"
#include "rueda/core/error.hpp"

namespace rueda::bench {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

const char* const kProbe =
    "import importlib.util, sys; sys.exit(importlib.util.find_spec('matplotlib') is None)";

/// What RUEDA_PLOT_PYTHON names, or those that are usual: the first in PATH need not be the
/// system's, which has the system's matplotlib.
std::vector<std::string> pythons() {
  const char* named = std::getenv("RUEDA_PLOT_PYTHON");
  if (named != nullptr && *named != '\0') return {named};
  return {"python3", "/usr/bin/python3"};
}

/// Whether the Python program `script` ended well, with `input` as its standard input.
bool run(const std::string& python, const std::string& script, const std::string& argument,
         std::FILE* input) {
  std::array<std::string, 4> words = {python, "-c", script, argument};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  pid_t process = -1;
  const int error =
      posix_spawnp(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return error == 0 && waitpid(process, &status, 0) == process && status == 0;
}

File temporary_file(const std::string& text) {
  File file(std::tmpfile(), std::fclose);
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw RunError("--plot: no temporary file can be written");
  }
  std::rewind(file.get());
  return file;
}

/// The one that can draw. Throws InputError if none can.
std::string plotter() {
  std::string tried;
  for (const std::string& python : pythons()) {
    if (run(python, kProbe, "", temporary_file("").get())) return python;
    tried += (tried.empty() ? "" : " and ") + python;
  }
  throw InputError("--plot: no matplotlib in " + tried +
                   "; install it, or name a Python that has it in RUEDA_PLOT_PYTHON, or write "
                   "--json and draw elsewhere with jobs/plot_all_reduce.py");
}

}  // namespace

void check_plotter() { plotter(); }

void plot_record(const std::string& json, const std::string& file) {
  if (run(plotter(), kPlotScript, file, temporary_file(json).get())) return;
  throw RunError("--plot " + file + ": it could not be drawn (the reason stands above)");
}

}  // namespace rueda::bench
