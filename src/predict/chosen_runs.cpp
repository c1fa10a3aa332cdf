#include "chosen_runs.hpp"

#include <set>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kUsualImageSize = 32;

std::string words(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

std::set<std::string> networks_of(const std::vector<RunResult>& runs) {
  std::set<std::string> names;
  for (const RunResult& run : runs) names.insert(run.model);
  return names;
}

/// The network whose runs are to be gone by.
std::string network_that_ran(const std::vector<RunResult>& runs, const std::string& wanted) {
  const auto names = networks_of(runs);
  if (names.count(wanted) > 0 || names.empty()) return wanted;
  if (names.size() == 1) return *names.begin();
  const std::string which = wanted.empty() ? "say by --model which one is meant"
                                           : "give the runs of one of them, for " +
                                                 printable(wanted) + " to be taken from it";
  throw InputError("the runs are of " + words(names) + ": " + which);
}

void require_one_kind(const std::vector<RunResult>& runs) {
  std::set<std::string> kinds;
  for (const RunResult& run : runs) {
    kinds.insert(run.ranks.front().backend + " in " + run.precision + " at " +
                 std::to_string(run.image_size) + " pixels");
  }
  if (kinds.size() > 1) {
    throw InputError("the runs to fit the compute time to are not of one kind: " + words(kinds) +
                     "; give those of one");
  }
}

}  // namespace

Chosen choose_runs(const std::vector<RunResult>& runs, const Target& target) {
  Chosen chosen;
  chosen.ran = network_that_ran(runs, target.model);
  for (const RunResult& run : runs) {
    if (run.model == chosen.ran) chosen.runs.push_back(run);
  }
  require_one_kind(chosen.runs);
  chosen.network = target.model.empty() ? chosen.ran : target.model;
  if (chosen.network.empty()) throw InputError("no run and no --model: nothing says which network");
  chosen.image_size = target.image_size;
  if (chosen.image_size == 0) {
    chosen.image_size = chosen.runs.empty() ? kUsualImageSize : chosen.runs.front().image_size;
  }
  return chosen;
}

}  // namespace rueda::predict
