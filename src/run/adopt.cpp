#include <algorithm>
#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include "resume_point.hpp"
#include "rueda/checkpoint/checkpoint_directory.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/printable.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/train/options.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const Json& options, std::string_view name) {
  const auto at = options.find(name);
  return at == options.end() ? "not known" : printable(at->dump());
}

/// A difference in each option of a `policy`: name, here, there.
template <typename Report>
void for_differences(Resume policy, const Json& here, const Json& there, Report report) {
  for (const TrainOption& option : train_options()) {
    if (option.resume != policy) continue;
    const std::string mine = shown(here, option.name);
    const std::string theirs = shown(there, option.name);
    if (mine != theirs) report(std::string(option.name), mine, theirs);
  }
}

void compare_options(ResumePoint& point, const TrainConfig& config) {
  const Json here = Json::parse(options_json(config));
  const Json there = Json::parse(point.manifest.config);
  for_differences(Resume::must_agree, here, there,
                  [&](const auto& name, const auto& mine, const auto& its) {
                    throw InputError("--resume: --" + name + " is " + mine + ", but the run of " +
                                     point.checkpoint + " has " + its +
                                     ": leave it out, or begin a new run with "
                                     "--init-weights " +
                                     point.checkpoint + "/weights.safetensors");
                  });
  for_differences(Resume::changes_bits, here, there,
                  [&](const auto& name, const auto& mine, const auto& its) {
                    point.remarks.push_back("not bit for bit as without the interruption: --" +
                                            name + " is " + mine + " instead of " + its);
                  });
}

void compare_data(const ResumePoint& point, const std::vector<std::string>& data) {
  for (std::size_t i = 0; i < std::max(data.size(), point.manifest.data.size()); ++i) {
    const std::string here = i < data.size() ? data[i] : "";
    const std::string there = i < point.manifest.data.size() ? point.manifest.data[i] : "";
    if (here == there) continue;
    throw InputError("--resume: the data set is not that of " + point.checkpoint + ": " + here +
                     " here, " + printable(there) + " there: give the same --data");
  }
}

/// A text; empty if there is none.
std::string option_of(const Manifest& manifest, const char* name) {
  const Json options = Json::parse(manifest.config);
  const auto at = options.find(name);
  return at != options.end() && at->is_string() ? at->get<std::string>() : "";
}

/// A file that somebody's checkpoint names is not written unasked.
void tell_of_weights(ResumePoint& point, const TrainConfig& config) {
  const std::string before = saved_weights(point.manifest);
  if (before.empty() || !config.save_weights.empty()) return;
  point.remarks.push_back(
      "--save-weights is not taken over from the interrupted run: give it "
      "again (" +
      printable(before) + ") to have them written at the end");
}

/// The global batch stays; its parts do if they can be dealt out evenly.
void settle_batch(ResumePoint& point, TrainConfig& config, std::size_t world) {
  const Manifest& m = point.manifest;
  const std::size_t parts = m.world * m.micro_batches;
  const bool same_parts = parts % world == 0;
  if (same_parts) config.accumulate = parts / world;
  config.global_batch = m.global_batch;
  if (config.accumulate > kMostSamples) {
    throw InputError("--resume: " + std::to_string(parts) +
                     " micro-batches per step are too many for " + std::to_string(world) +
                     " ranks: resume on more");
  }
  const std::size_t now = world * config.accumulate;
  config.batch_per_rank = std::max<std::size_t>(1, (m.global_batch + now - 1) / now);
  if (config.shard == Shard::fixed && now != parts) {
    throw InputError("--resume: with --shard fixed the data set is cut into " +
                     std::to_string(parts) + " slices, which " + std::to_string(world) +
                     " ranks can not share alike: resume on a divisor of " + std::to_string(parts));
  }
  if (m.world == world && now == parts) return;
  std::string text = "resumed on " + std::to_string(world) + " instead of " +
                     std::to_string(m.world) + " ranks: the global batch stays " +
                     std::to_string(m.global_batch) + ", " + std::to_string(config.accumulate) +
                     " micro-batches per rank";
  const bool exact = same_parts && config.reduce_order == ReduceOrder::fixed;
  if (!exact) {
    text +=
        "; not bit for bit as without the change (that takes the same micro-batches and "
        "--reduce-order fixed)";
  }
  point.remarks.push_back(text);
}

/// Without --run-dir a run goes on where its checkpoint lies.
void settle_run_directory(const ResumePoint& point, TrainConfig& config) {
  if (!config.run_dir.empty()) return;
  config.run_dir = run_directory_of(point.checkpoint);
  if (!config.run_dir.empty()) return;
  throw InputError("--resume " + point.checkpoint + ": this checkpoint lies in no run directory (" +
                   kCheckpointsName + "/): name one to write into with --run-dir");
}

}  // namespace

std::string saved_weights(const Manifest& manifest) { return option_of(manifest, "save-weights"); }

bool saves_same_weights(const Manifest& manifest, const TrainConfig& config) {
  const std::filesystem::path path = config.save_weights;
  if (path.empty() || saved_weights(manifest) != path.string()) return false;
  const std::filesystem::path before = option_of(manifest, "run-dir");
  return path.is_absolute() || (before.is_relative() && before == config.run_dir);
}

void adopt(ResumePoint& point, TrainConfig& config, const ResumingRun& run) {
  compare_options(point, config);
  compare_data(point, run.data);
  settle_batch(point, config, run.world);
  settle_run_directory(point, config);
  tell_of_weights(point, config);
}

void compare_machines(ResumePoint& point, const std::vector<std::string>& machines,
                      const std::vector<std::pair<std::string, std::string>>& versions) {
  const auto differs = [&point](const std::string& what, const std::string& here,
                                const std::string& there) {
    point.remarks.push_back("may not go on bit for bit: " + what + " is " + here + " instead of " +
                            printable(there));
  };
  for (const auto& [name, version] : point.manifest.versions) {
    const auto mine = std::find_if(versions.begin(), versions.end(),
                                   [&name = name](const auto& v) { return v.first == name; });
    const std::string here = mine == versions.end() ? "missing" : mine->second;
    if (here != version) differs(printable(name), here, version);
  }
  const std::size_t ranks = std::min(machines.size(), point.manifest.machines.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (machines[rank] == point.manifest.machines[rank]) continue;
    differs("rank " + std::to_string(rank), machines[rank], point.manifest.machines[rank]);
    return;
  }
}

}  // namespace rueda
