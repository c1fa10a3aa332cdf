#include "cli/hints.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "train/options.hpp"
#include "train/options/removed_options.hpp"

namespace rueda {
namespace {

/// Words that ask for ranks, as PyTorch's, Horovod's and MPI's launchers know them.
constexpr std::array<std::string_view, 17> kRankWords = {
    "n",     "np",       "gpus",        "num-gpus",   "ngpus",         "n-gpus",
    "nproc", "num-proc", "nprocs",      "world-size", "num-processes", "nproc-per-node",
    "ranks", "devices",  "num-devices", "nnodes",     "nodes"};

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
  return removal_of(command.get_name(), word);
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
