#include "run/resume/resume_point.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "base/text.hpp"
#include "record/recorded_path.hpp"
#include "record/run_json.hpp"
#include "reduce/tree_order.hpp"
#include "train/options.hpp"
#include "train/run_plan.hpp"

namespace rueda {
namespace {

/// Without a slash at its end, which completion by a shell adds.
fs::path tidy(const fs::path& path) {
  const fs::path tidied = path.lexically_normal();
  if (!tidied.has_filename()) return tidied.parent_path();
  return tidied;
}

std::string place_text(const Manifest& m) {
  const TrainPosition& at = m.position;
  if (at.steps == 0) return fmt::format("after epoch {}", at.epochs);
  return fmt::format("in epoch {}, after {} of {} steps", at.epochs + 1, at.steps,
                     m.steps_per_epoch);
}

/// The checkpoints that the place may mean, the latest first: those of a run
/// directory, or the one named. Throws InputError where there is none, unless
/// it is `auto`.
std::vector<fs::path> candidates_of(const CheckpointPlace& place) {
  if (place.path == "auto") return list_checkpoints(fs::path(place.directory) / kCheckpointsName);
  const fs::path given = tidy(place.path);
  std::error_code ignored;
  if (fs::exists(given / kManifestName, ignored)) return {given};
  auto found = list_checkpoints(given / kCheckpointsName);
  if (!found.empty()) return found;
  throw InputError(place.words() +
                   ": there is no checkpoint; give a run directory that has some below " +
                   kCheckpointsName + "/, one of these, or " + place.instead);
}

/// As often a run that goes on may remove the checkpoint that is being read.
constexpr int kTries = 10;

/// The first that is whole. Notes what is wrong with those before it.
ResumePoint latest_whole(const std::vector<fs::path>& candidates) {
  ResumePoint point;
  std::string first_damage;
  for (const fs::path& candidate : candidates) {
    try {
      point.manifest = verify_checkpoint(candidate);
      point.checkpoint = candidate;
      return point;
    } catch (const InputError& error) {
      if (candidates.size() == 1) throw;
      if (first_damage.empty()) first_damage = error.what();
      log_once(LogLevel::info, std::string("passed over: ") + error.what());
    }
  }
  throw InputError("none of the " + std::to_string(candidates.size()) +
                   " checkpoints is undamaged; the latest: " + first_damage);
}

using Json = nlohmann::ordered_json;

std::string shown(const Json& options, std::string_view name) {
  const auto at = options.find(name);
  if (at == options.end()) return "not known";
  return printable(at->dump());
}

/// With the path that it has as it leads from here.
std::string text_from_here(const TrainOption& option, std::string text, const std::string& folder) {
  if (const auto path = path_begin(option, text))
    text.replace(*path, text.npos, recorded_path(text.substr(*path), folder));
  return text;
}

void compare_options(const ResumePoint& point, const TrainConfig& config) {
  const Json here = Json::parse(options_json(config));
  Json there = Json::parse(point.manifest.config);
  for (const TrainOption& option : train_options()) {
    const auto recorded = there.find(option.name);
    if (recorded != there.end() && recorded->is_string())
      *recorded = text_from_here(option, *recorded, point.manifest.folder);
    const std::string mine = shown(here, option.name);
    const std::string its = shown(there, option.name);
    if (mine == its) continue;
    if (option.resume == Resume::must_agree) {
      throw InputError(fmt::format(
          "--resume: --{} is {}, but the run of {} has {}: leave it out, or begin a new run with "
          "--init-weights {}/{}",
          option.name, mine, point.checkpoint, its, point.checkpoint, kCheckpointWeightsName));
    }
    if (option.resume == Resume::changes_bits) {
      log(LogLevel::info,
          fmt::format("not bit for bit as without the interruption: --{} is {} instead of {}",
                      option.name, mine, its));
    }
  }
}

/// Part `i` of what names a data set; empty where it has fewer.
std::string part_of(const std::vector<std::string>& data, std::size_t i) {
  if (i >= data.size()) return "";
  return data[i];
}

void compare_data(const ResumePoint& point, const std::vector<std::string>& data) {
  for (std::size_t i = 0; i < std::max(data.size(), point.manifest.data.size()); ++i) {
    const std::string here = part_of(data, i);
    const std::string there = part_of(point.manifest.data, i);
    require(here == there, fmt::format("--resume: the data set is not that of {}: {} here, {} "
                                       "there: give the same --data",
                                       point.checkpoint, here, printable(there)));
  }
}

/// A text; empty if there is none.
std::string option_of(const Manifest& manifest, const char* name) {
  const Json options = Json::parse(manifest.config);
  const auto at = options.find(name);
  if (at == options.end() || !at->is_string()) return "";
  return at->get<std::string>();
}

/// A file that somebody's checkpoint names is not written unasked.
void note_weights(const ResumePoint& point, const TrainConfig& config) {
  const std::string before = option_of(point.manifest, "save-weights");
  if (!names_weights(before) || !config.output.save_weights.empty()) return;
  log(LogLevel::info,
      fmt::format("--save-weights is not taken over from the interrupted run: give it again ({}) "
                  "to have them written at the end",
                  printable(before)));
}

/// Of a run that is dealt out to ranks in another way than before.
void note_ranks(const Manifest& m, const TrainConfig& config, std::size_t world) {
  std::string text = fmt::format(
      "resumed on {} instead of {}: the global batch stays {}, {} per rank", counted(world, "rank"),
      m.world, m.global_batch, counted(config.batch.accumulate, "micro-batch"));
  const Deal dealt{m.world, m.micro_batches};
  const bool exact =
      config.sums.order == ReduceOrder::fixed && same_tree(dealt, {world, config.batch.accumulate});
  if (!exact)
    text +=
        "; not bit for bit as without the change (equal bits need --reduce-order fixed, the same "
        "number of micro-batches in all, and before and after it one rank, or 1, 2, 4, 8 ... "
        "micro-batches per rank)";
  log(LogLevel::info, text);
}

/// The global batch stays; its parts do if they can be dealt out evenly. What a
/// job script says of a rank's batch may be meant for other ranks.
void choose_batch(const ResumePoint& point, TrainConfig& config, std::size_t world) {
  const Manifest& m = point.manifest;
  require(config.batch.global == 0 || config.batch.global == m.global_batch,
          fmt::format("--resume: --global-batch is {}, but the run of {} has {}: leave it out",
                      config.batch.global, point.checkpoint, m.global_batch));
  const std::string before = shown(Json::parse(m.config), "batch-per-rank");
  const std::string now_asked = shown(Json::parse(options_json(config)), "batch-per-rank");
  const bool asked = config.given.contains("batch-per-rank") && now_asked != before;
  const std::size_t parts = m.world * m.micro_batches;
  const bool same_parts = parts % world == 0;
  if (same_parts) config.batch.accumulate = parts / world;
  config.batch.global = m.global_batch;
  require(config.batch.accumulate <= kMostSamples,
          fmt::format("--resume: {} micro-batches per step are too many for {}: resume on more",
                      parts, counted(world, "rank")));
  const std::size_t now = world * config.batch.accumulate;
  config.batch.per_rank = std::max<std::size_t>(1, pieces(m.global_batch, now));
  require(config.data.shard != Shard::fixed || now == parts,
          fmt::format("--resume: with --shard fixed the data set is cut into {} slices, which {} "
                      "ranks cannot share evenly: resume on a divisor of {}",
                      parts, world, parts));
  if (asked && now_asked != std::to_string(config.batch.per_rank))
    log(LogLevel::info, fmt::format("--batch-per-rank {} is not taken: a resumed run keeps its "
                                    "global batch of {}, {} per rank",
                                    now_asked, m.global_batch, config.batch.per_rank));
  if (m.world != world || now != parts) note_ranks(m, config, world);
}

/// What the program would do on its own, from the options and the data, is what was recorded.
void compare_plan(const ResumePoint& point, const TrainConfig& config, std::size_t world,
                  std::size_t train_images) {
  const std::size_t steps = plan_run(config, world, train_images).schedule.steps_per_epoch;
  require(steps == point.manifest.steps_per_epoch,
          fmt::format("--resume {}: it says that an epoch has {} steps, but {} images in global "
                      "batches of {} are {}: resume from another checkpoint",
                      point.checkpoint, point.manifest.steps_per_epoch, train_images,
                      config.batch.global, steps));
}

/// Without --run-dir a run goes on where its checkpoint lies.
void choose_run_directory(const ResumePoint& point, TrainConfig& config) {
  if (!config.output.run_dir.empty()) return;
  config.output.run_dir = run_directory_of(point.checkpoint);
  require(!config.output.run_dir.empty(),
          "--resume " + point.checkpoint + ": this checkpoint lies in no run directory (" +
              kCheckpointsName + "/): name one to write into with --run-dir");
}

}  // namespace

CheckpointPlace resumed_place(const TrainConfig& config) {
  return {"--resume", config.checkpoints.resume, config.output.run_dir, "auto"};
}

// A path need not be UTF-8.
std::string encode(const ResumePoint& point) {
  if (point.checkpoint.empty()) return "";
  const auto bytes = Json::to_cbor(Json::array({point.checkpoint, to_json(point.manifest)}));
  return {bytes.begin(), bytes.end()};
}

std::optional<ResumePoint> decode(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const Json json = Json::from_cbor(text);
  const std::string checkpoint = json[0];
  return ResumePoint{checkpoint, parse_manifest(json[1], checkpoint)};
}

void note_checkpoint(const ResumePoint& point, const std::string& what) {
  log(LogLevel::info, what + ' ' + point.checkpoint + ", " + place_text(point.manifest));
}

std::string run_directory_of(const std::string& checkpoint) {
  fs::path checkpoints = tidy(checkpoint).parent_path();
  std::error_code none;
  // A link to it, or named from where it lies.
  if (checkpoints.filename() != kCheckpointsName)
    checkpoints = fs::weakly_canonical(checkpoint, none).parent_path();
  if (checkpoints.filename() != kCheckpointsName) return "";
  if (!checkpoints.has_parent_path()) return ".";
  return checkpoints.parent_path().string();
}

ResumePoint latest_checkpoint(const CheckpointPlace& place) {
  for (int left = kTries;; --left) {
    const auto candidates = candidates_of(place);
    if (candidates.empty()) return {};
    const auto is_gone = [](const fs::path& checkpoint) {
      std::error_code none;
      return !fs::exists(checkpoint, none);
    };
    try {
      ResumePoint point = latest_whole(candidates);
      if (point.checkpoint == candidates.front() || left == 0) return point;
      if (std::ranges::none_of(candidates, is_gone)) return point;
    } catch (const InputError&) {
      if (left == 0 || std::ranges::none_of(candidates, is_gone)) throw;
    }
  }
}

bool saves_same_weights(const Manifest& manifest, const TrainConfig& config) {
  const fs::path path = config.output.save_weights;
  if (path.empty() || option_of(manifest, "save-weights") != path.string()) return false;
  const fs::path before = option_of(manifest, "run-dir");
  return path.is_absolute() || (before.is_relative() && before == config.output.run_dir);
}

void adopt(const ResumePoint& point, TrainConfig& config, std::size_t world,
           const std::vector<std::string>& data, std::size_t train_images) {
  compare_options(point, config);
  compare_data(point, data);
  choose_batch(point, config, world);
  compare_plan(point, config, world, train_images);
  choose_run_directory(point, config);
  if (point.manifest.position.epochs >= config.training.epochs)
    log(LogLevel::info,
        fmt::format("there is nothing left to train: give --epochs more than {} to go on",
                    config.training.epochs));
  note_weights(point, config);
}

void compare_machines(const ResumePoint& point, const std::vector<std::string>& machines,
                      const Versions& versions) {
  const auto differs = [](const std::string& what, const std::string& here,
                          const std::string& there) {
    log(LogLevel::info, fmt::format("may not go on bit for bit: {} is {} instead of {}", what, here,
                                    printable(there)));
  };
  for (const auto& [name, version] : point.manifest.versions) {
    const auto mine = std::ranges::find(versions, name, [](auto& known) { return known.first; });
    std::string here = "missing";
    if (mine != versions.end()) here = mine->second;
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
