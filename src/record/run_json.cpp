#include "rueda/record/run_json.hpp"

#include <set>

#include "aggregation.hpp"
#include "json_parts.hpp"
#include "rueda/core/files.hpp"

namespace rueda {
namespace {

Json rank_json(const RankInfo& rank) {
  Json startup = Json::object();
  for (const auto& [name, seconds] : rank.startup) startup[name] = seconds;
  Json j;
  j["rank"] = rank.rank;
  j["local_rank"] = rank.local_rank;
  j["host"] = rank.host;
  j["backend"] = rank.backend;
  j["device"] = rank.device;
  j["uuid"] = rank.uuid.empty() ? Json() : Json(rank.uuid);
  j["threads"] = rank.threads;
  j["cores"] = rank.cores;
  j["memory_bytes"] = rank.memory.total();
  for (const MemoryPart& part : kMemoryParts) j["memory"][part.name] = rank.memory.*part.bytes;
  j["startup"] = startup;
  return j;
}

Json hosts_json(const RunRecord& run) {
  Json hosts = Json::array();
  std::set<std::string> seen;
  for (const RankInfo& rank : run.ranks) {
    if (seen.insert(rank.host).second) hosts.push_back(rank.host);
  }
  return hosts;
}

Json model_json(const RunRecord& run) {
  Json j;
  j["name"] = run.config.model;
  j["image_size"] = run.config.image_size;
  j["trainable_parameters"] = run.parameters;
  j["non_trainable_parameters"] = run.statistics;
  j["train_flops_per_image"] = run.train_flops_per_image;
  return j;
}

Json data_json(const RunRecord& run) {
  Json j;
  j["source"] = run.data_source;
  j["train_images"] = run.train_images;
  j["test_images"] = run.test_images;
  return j;
}

Json batch_json(const RunRecord& run) {
  Json j;
  j["global"] = run.global_batch;
  j["per_rank"] = run.rank_batches;
  j["micro_batches"] = run.config.accumulate;
  j["micro_batch"] = run.micro_batch;
  j["micro_batch_asked"] = run.micro_batch_asked == 0 ? Json("max") : Json(run.micro_batch_asked);
  j["steps_per_epoch"] = run.steps_per_epoch;
  return j;
}

/// Without workers, the thread that trains prepares batches itself.
Json input_json(const TrainConfig& config) {
  Json j;
  j["mode"] = to_string(config.input);
  j["workers_per_rank"] = config.input == InputMode::stream ? Json(config.input_workers) : Json();
  return j;
}

/// Null for a run that computed.
Json timed_json(const RunRecord& run) {
  if (!run.timed) return nullptr;
  Json j;
  j["seconds"] = run.timed->seconds;
  j["images"] = run.timed->images;
  j["jitter_percent"] = run.timed->jitter_percent;
  j["recorded_in"] = run.timed->recorded_in.empty() ? Json() : Json(run.timed->recorded_in);
  return j;
}

/// A column for each quantity; null: the GPU does not tell. Null altogether without samples.
Json samples_json(const std::vector<DeviceSample>& samples) {
  if (samples.empty()) return nullptr;
  Json j;
  for (const DeviceSample& sample : samples) j["seconds"].push_back(sample.seconds);
  for (const DeviceQuantity& quantity : kDeviceQuantities) {
    for (const DeviceSample& sample : samples) {
      j[quantity.name].push_back(sample.*quantity.value);
    }
  }
  return j;
}

void add_header(Json& j, const RunRecord& run) {
  j["schema"] = "rueda-run";
  j["schema_version"] = kRunSchemaVersion;
  j["command_line"] = run.command_line;
  j["started_at"] = run.started_at;
  j["outcome"] = run.outcome;
  j["versions"] = Json::object();
  for (const auto& [name, version] : run.versions) j["versions"][name] = version;
}

void add_job(Json& j, const RunRecord& run) {
  j["config"] = config_json(run.config);
  j["model"] = model_json(run);
  j["data"] = data_json(run);
  j["batch"] = batch_json(run);
  j["input"] = input_json(run.config);
  j["timed"] = timed_json(run);
  j["learning_rate"] = run.learning_rate;
  j["all_reduce"]["algorithm"] = run.all_reduce;
  if (!run.reduce_table_hash.empty()) {
    j["all_reduce"]["table"] = {{"file", run.config.reduce_table},
                                {"rows_hash", run.reduce_table_hash}};
  }
  j["all_reduce"]["transport"] = run.transport;
  j["all_reduce"]["gradient_bytes"] = run.gradient_bytes;
  j["all_reduce"]["bucket_bytes"] = run.bucket_bytes;
  j["all_reduce"]["overlaps_backward"] = run.overlaps;
}

Json checkpoints_json(const RunRecord& run) {
  Json all = Json::array();
  for (const CheckpointRecord& c : run.checkpoints) {
    Json j;
    j["path"] = c.path;
    j["epochs"] = c.epochs;
    j["steps"] = c.steps;
    j["bytes"] = c.bytes;
    j["pause_seconds"] = c.pause_seconds;
    j["write_seconds"] = c.write_seconds;
    all.push_back(j);
  }
  return all;
}

void add_ranks(Json& j, const RunRecord& run) {
  j["world_size"] = run.ranks.size();
  j["hosts"] = hosts_json(run);
  j["ranks"] = Json::array();
  for (const RankInfo& rank : run.ranks) j["ranks"].push_back(rank_json(rank));
  j["startup"] = Json::object();
  for (const auto& [name, spread] : startup_items(run.ranks))
    j["startup"][name] = range_json(spread);
}

/// The document with no epochs in it.
Json frame_json(const RunRecord& run) {
  Json j;
  add_header(j, run);
  add_job(j, run);
  add_ranks(j, run);
  j["resumptions"] = resumptions_json(run);
  j["checkpoints"] = checkpoints_json(run);
  j["epochs"] = Json::array();
  j["gpu_samples"] = Json::array();
  for (const auto& samples : run.gpu_samples) j["gpu_samples"].push_back(samples_json(samples));
  j["summary"] = summary_json(run);
  return j;
}

/// `text` with every line but the first moved to the right.
std::string moved(const std::string& text, const char* by) {
  std::string to;
  for (const char c : text) {
    to += c;
    if (c == '\n') to += by;  // between tokens: inside strings it is written otherwise
  }
  return to;
}

/// The list of epochs as if it had been dumped with the frame. A document takes many times the
/// memory of its text, and a run has many epochs: there is one epoch's at a time.
void put_epochs(const TextSink& put, const RunRecord& run) {
  std::string before = "[\n    ";
  for (const EpochRecord& e : run.epochs) {
    put(before + moved(text_of(epoch_json(e, run), 2), "    "));
    before = ",\n    ";
  }
  put(run.epochs.empty() ? "[]" : "\n  ]");
}

void put_json(const TextSink& put, const RunRecord& run) {
  const std::string frame = text_of(frame_json(run), 2);
  const std::string key = "\n  \"epochs\": ";
  const std::size_t place = frame.find(key + "[]") + key.size();
  put(std::string_view(frame).substr(0, place));
  put_epochs(put, run);
  put(std::string_view(frame).substr(place + 2));
  put("\n");
}

}  // namespace

std::string text_of(const Json& j, int indent) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json range_json(const Spread& spread) {
  Json j;
  j["min"] = spread.min;
  j["mean"] = spread.mean;
  j["max"] = spread.max;
  return j;
}

Json spread_json(const Spread& spread) {
  Json j;
  j["count"] = spread.count;
  j["min"] = spread.min;
  j["mean"] = spread.mean;
  j["median"] = spread.median;
  j["p90"] = spread.p90;
  j["max"] = spread.max;
  j["deviation"] = spread.deviation;
  return j;
}

Json phases_json(const PhaseSeconds& phases) {
  Json j;
  for (std::size_t p = 0; p < kPhases; ++p) j[std::string(kPhaseNames[p])] = phases[p];
  return j;
}

std::string to_json(const RunRecord& run) {
  std::string text;
  put_json([&text](std::string_view piece) { text += piece; }, run);
  return text;
}

void write_run_json(const std::filesystem::path& path, const RunRecord& run) {
  write_atomically(path, [&run](const TextSink& put) { put_json(put, run); });
}

}  // namespace rueda
