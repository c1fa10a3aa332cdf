#include "train/options/removed_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"

namespace rueda {
namespace {

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

}  // namespace

/// "--Batch_Size" is "batch-size".
std::string plain_name(std::string word) {
  word.erase(0, std::min(word.find_first_not_of('-'), word.size()));
  std::ranges::replace(word, '_', '-');
  return lowered(word);
}

std::string removal_of(const std::string& command, const std::string& word) {
  const std::string name = plain_name(word);
  for (const Removal& removal : kRemovals) {
    if (removal.command == command && removal.word == name)
      return printable(word) + " was removed: " + removal.use;
  }
  return "";
}

}  // namespace rueda
