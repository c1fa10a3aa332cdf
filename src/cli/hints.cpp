#include "cli/hints.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

/// What earlier versions had.
struct Removal {
  std::string_view command;
  std::string_view word;
  const char* use;
};
constexpr const char* kUseAuto =
    "give --all-reduce auto, or the algorithm that rueda bench all-reduce finds fastest";
constexpr const char* kUseCompute =
    "give --compute, for example --compute ms=40,jitter=50,factors=1:2 "
    "or --compute from=RUN.json";
constexpr auto kRemovals = std::to_array<Removal>({
    {"train", "all-reduce central",
     "its root is a bottleneck; rueda bench all-reduce compares it with the others; give "
     "--all-reduce ring"},
    {"train", "on-audit",
     "a run stops where an audit finds wrong arithmetic; jobs/run-again.sh starts it again, "
     "without the "
     "host"},
    {"train", "compute-ms", kUseCompute},
    {"train", "compute-from", kUseCompute},
    {"train", "compute-factors", kUseCompute},
    {"train", "compute-jitter", kUseCompute},
    {"train", "inject", "tests set the variable RUEDA_INJECT=KIND:RANK:STEP"},
    {"train", "wire-error-feedback",
     "it halved a difference that another seed makes ten times as large; give --wire bf16 alone "
     "or --wire fp32"},
    {"train", "reduce-table", kUseAuto},
    {"all-reduce", "reduce-table", kUseAuto},
    {"bench", "tune",
     "rueda bench all-reduce shows which algorithm is the fastest at each length, and train "
     "--all-reduce auto chooses by a rule"},
});

/// Words that ask for ranks, as PyTorch's, Horovod's and MPI's launchers know them.
constexpr std::array<std::string_view, 17> kRankWords = {
    "n",     "np",       "gpus",        "num-gpus",   "ngpus",         "n-gpus",
    "nproc", "num-proc", "nprocs",      "world-size", "num-processes", "nproc-per-node",
    "ranks", "devices",  "num-devices", "nnodes",     "nodes"};

/// "--Batch_Size" is "batch-size".
std::string plain_name(std::string word) {
  word.erase(0, std::min(word.find_first_not_of('-'), word.size()));
  std::ranges::replace(word, '_', '-');
  return lowered(word);
}

std::string launch_line(const CLI::App& command, const std::string& value) {
  std::string_view rest = value;
  std::string ranks = "N";
  if (take_number(rest) && rest.empty()) ranks = value;
  return fmt::format(": the launcher starts the ranks, one for each GPU: mpirun -n {} {} ...",
                     ranks, full_name(command));
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return command.get_name();
  return full_name(*parent) + " " + command.get_name();
}

std::string removal_of(const CLI::App& command, const std::string& word) {
  const std::string name = plain_name(word);
  for (const Removal& removal : kRemovals) {
    if (removal.command == command.get_name() && removal.word == name)
      return printable(word) + " was removed: " + removal.use;
  }
  return "";
}

std::string hint_for(const CLI::App& command, const std::string& word, const std::string& value) {
  const std::string dashes = word.starts_with("-") ? "--" : "";
  const std::string name = plain_name(word);
  std::vector<std::string> names;
  if (name.empty()) return "";
  for (const CLI::Option* option : command.get_options())
    if (!dashes.empty() || option->get_configurable())  // a recipe may set these
      for (const std::string& one : option->get_lnames()) names.push_back(dashes + one);
  const auto has = [&](const std::string& one) {
    return std::ranges::count(names, dashes + one) > 0;
  };
  if (has(name)) return ": did you mean " + dashes + name + "?";
  for (const TrainOption& option : train_options())
    if (has(option.name) && std::ranges::count(option.uses.synonyms, name) > 0)
      return ": did you mean " + dashes + option.name + "?";
  if (std::ranges::count(kRankWords, name) > 0) return launch_line(command, value);
  return did_you_mean(dashes + name, names);
}

}  // namespace rueda
