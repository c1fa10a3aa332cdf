#include "run/resume/evaluated_weights.hpp"

#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json/bounded_json.hpp"
#include "base/json/json_view.hpp"
#include "base/split.hpp"
#include "base/text_input.hpp"
#include "record/recorded_options.hpp"
#include "record/recorded_path.hpp"
#include "record/run_json.hpp"
#include "run/resume/resume_point.hpp"
#include "run/resume/taken_options.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

/// The run or the checkpoint whose weights are evaluated.
CheckpointPlace evaluated_place(const TrainConfig& config) {
  return {"--init-weights", config.checkpoints.resume, "", "a .safetensors file"};
}

std::string weights_in(const ResumePoint& point) {
  return point.checkpoint + "/" + kCheckpointWeightsName;
}

/// Images that a rank of a run evaluated at once, by its run.json; 0 where that is of an older
/// version and does not say.
std::size_t scored_batch(const JsonView& run) {
  const JsonView batch = run.part("batch");
  if (!batch.has("global") || !batch.has("micro_batches") || !run.has("world_size")) return 0;
  const double parts = double(run.positive("world_size")) * double(batch.positive("micro_batches"));
  return std::size_t(std::ceil(double(batch.positive("global")) / parts));
}

/// The weights that the run in this directory kept at its end, where it has no
/// checkpoint, and its run.json, whose options are taken; an empty text where
/// one of them is not there.
std::string take_kept_weights(TrainConfig& config, const std::string& directory) {
  const fs::path weights = fs::path(directory) / kFinalWeightsName;
  const fs::path record = fs::path(directory) / kRunJsonName;
  std::error_code none;
  if (!fs::exists(weights, none) || !fs::exists(record, none) ||
      !list_checkpoints(fs::path(directory) / kCheckpointsName).empty())
    return "";
  const std::string source = "--init-weights " + directory;
  const InputFile file{record, source + ": run.json", "give the weights file itself, and --model"};
  const Json run = parse_json(read_text(file, kMostJsonBytes), file);
  file.require(run.contains("config") && run["config"].is_object(), "it has no options of a run");
  const Json folder = run.value(kWorkingDirectory, Json());
  take_options(config,
               {recorded_options(run["config"]), source,
                folder.is_string() ? folder.get<std::string>() : std::string()},
               TakenBy::evaluation);
  const std::size_t batch = scored_batch(JsonView(run, file));
  if (batch > 0 && !config.given.contains("batch-per-rank"))  // the same batches give the same bits
    config.batch.per_rank = batch;
  return weights.string();
}

/// The file of the weights; completes `config` by the options of their run.
std::string found_weights(TrainConfig& config) {
  const std::string named = config.model.init_weights;
  std::error_code none;
  if (!fs::is_directory(named, none)) return named;
  if (std::string kept = take_kept_weights(config, named); !kept.empty()) {
    config.model.init_weights = kept;
    return kept;
  }
  config.checkpoints.resume = std::exchange(config.model.init_weights, "");
  const CheckpointPlace place = evaluated_place(config);
  const ResumePoint point = latest_checkpoint(place);
  take_options(config, point, place, TakenBy::evaluation);
  const Manifest& m = point.manifest;
  if (!config.given.contains("batch-per-rank"))  // the same batches give the same bits
    config.batch.per_rank = even_split(m.global_batch, m.world * m.micro_batches, 0).size();
  note_checkpoint(point, "weights of");
  return weights_in(point);
}

}  // namespace

std::string find_weights(TrainConfig& config) {
  const std::string named = config.model.init_weights;
  std::string weights = found_weights(config);
  require(config.device.backend != BackendChoice::timed,
          "--init-weights " + named + ": that run computed nothing: give the weights of another");
  validate(config);
  return weights;
}

std::string later_weights(const TrainConfig& config) {
  return weights_in(latest_checkpoint(evaluated_place(config)));
}

}  // namespace rueda
