#include "rueda/record/run_json.hpp"

#include <algorithm>

#include "json_parts.hpp"
#include "rueda/core/files.hpp"
#include "rueda/record/aggregation.hpp"

namespace rueda {
namespace {

Json memory_json(const RankInfo& rank) {
  Json j;
  for (const MemoryPart& part : kMemoryParts) j[part.name] = rank.memory.*part.bytes;
  return j;
}

const std::tuple kRankFields{
    Field{"rank", &RankInfo::rank},
    Field{"local_rank", &RankInfo::local_rank},
    Field{"host", &RankInfo::host},
    Field{"backend", &RankInfo::backend},
    Field{"device", &RankInfo::device},
    Field{"uuid", text_or_null(&RankInfo::uuid)},
    Field{"threads", &RankInfo::threads},
    Field{"cores", &RankInfo::cores},
    Field{"memory_bytes", [](const RankInfo& rank) { return rank.memory.total(); }},
    Field{"memory", memory_json},
    Field{"startup", [](const RankInfo& rank) { return pairs_json(rank.startup); }}};

const std::tuple kDataFields{Field{"source", &RunRecord::data_source},
                             Field{"train_images", &RunRecord::train_images},
                             Field{"test_images", &RunRecord::test_images}};

const std::tuple kModelFields{
    Field{"name", [](const RunRecord& run) { return run.config.model; }},
    Field{"image_size", [](const RunRecord& run) { return run.config.image_size; }},
    Field{"trainable_parameters", &RunRecord::parameters},
    Field{"non_trainable_parameters", &RunRecord::statistics},
    Field{"train_flops_per_image", &RunRecord::train_flops_per_image}};

Json micro_batch_asked(const RunRecord& run) {
  return run.micro_batch_asked == 0 ? Json("max") : Json(run.micro_batch_asked);
}

const std::tuple kBatchFields{
    Field{"global", &RunRecord::global_batch},
    Field{"per_rank", &RunRecord::rank_batches},
    Field{"micro_batches", [](const RunRecord& run) { return run.config.accumulate; }},
    Field{"micro_batch", &RunRecord::micro_batch},
    Field{"micro_batch_asked", micro_batch_asked},
    Field{"steps_per_epoch", &RunRecord::steps_per_epoch}};

const std::tuple kTimedFields{Field{"seconds", &TimedCompute::seconds},
                              Field{"images", &TimedCompute::images},
                              Field{"jitter_percent", &TimedCompute::jitter_percent},
                              Field{"recorded_in", text_or_null(&TimedCompute::recorded_in)}};

const std::tuple kSumFields{Field{"transport", &RunRecord::transport},
                            Field{"gradient_bytes", &RunRecord::gradient_bytes},
                            Field{"bucket_bytes", &RunRecord::bucket_bytes},
                            Field{"overlaps_backward", &RunRecord::overlaps}};

const std::tuple kCheckpointFields{Field{"path", &CheckpointRecord::path},
                                   Field{"epochs", &CheckpointRecord::epochs},
                                   Field{"steps", &CheckpointRecord::steps},
                                   Field{"bytes", &CheckpointRecord::bytes},
                                   Field{"pause_seconds", &CheckpointRecord::pause_seconds},
                                   Field{"write_seconds", &CheckpointRecord::write_seconds}};

const std::tuple kSpreadFields{
    Field{"count", &Spread::count},        Field{"min", &Spread::min}, Field{"mean", &Spread::mean},
    Field{"median", &Spread::median},      Field{"p90", &Spread::p90}, Field{"max", &Spread::max},
    Field{"deviation", &Spread::deviation}};

const std::tuple kRangeFields{Field{"min", &Spread::min}, Field{"mean", &Spread::mean},
                              Field{"max", &Spread::max}};

Json all_reduce_json(const RunRecord& run) {
  Json j;
  j["algorithm"] = run.all_reduce;
  if (!run.reduce_table_hash.empty())
    j["table"] = {{"file", run.config.reduce_table}, {"rows_hash", run.reduce_table_hash}};
  put_fields(j, run, kSumFields);
  return j;
}

std::vector<std::string> hosts(const RunRecord& run) {
  std::vector<std::string> hosts;
  for (const RankInfo& rank : run.ranks)
    if (std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
  return hosts;
}

/// Without workers, the thread that trains prepares batches itself.
Json input_json(const TrainConfig& config) {
  Json j;
  j["mode"] = to_string(config.input);
  j["workers_per_rank"] = config.input == InputMode::stream ? Json(config.input_workers) : Json();
  return j;
}

/// A column for each quantity; null: the GPU does not report it. Null as a whole without samples.
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

void put_job(Json& j, const RunRecord& run) {
  j["schema"] = "rueda-run";
  j["schema_version"] = kRunSchemaVersion;
  j["command_line"] = run.command_line;
  j["started_at"] = run.started_at;
  j["outcome"] = run.outcome;
  j["versions"] = pairs_json(run.versions);
  j["config"] = config_json(run.config);
  j["model"] = fields_json(run, kModelFields);
  j["data"] = fields_json(run, kDataFields);
  j["batch"] = fields_json(run, kBatchFields);
  j["input"] = input_json(run.config);
  j["timed"] = run.timed ? fields_json(*run.timed, kTimedFields) : Json();
  j["learning_rate"] = run.learning_rate;
  j["all_reduce"] = all_reduce_json(run);
}

/// The document with no epochs in it.
Json frame_json(const RunRecord& run) {
  Json j;
  put_job(j, run);
  j["world_size"] = run.ranks.size();
  j["hosts"] = hosts(run);
  j["ranks"] = list_json(run.ranks, kRankFields);
  j["startup"] = pairs_json(startup_items(run.ranks));
  j["resumptions"] = list_json(run.resumptions, kResumptionFields);
  j["checkpoints"] = list_json(run.checkpoints, kCheckpointFields);
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
  const std::size_t begin = frame.find(key + "[]") + key.size();
  put(std::string_view(frame).substr(0, begin));
  put_epochs(put, run);
  put(std::string_view(frame).substr(begin + 2));
  put("\n");
}

}  // namespace

std::string text_of(const Json& j, int indent) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Spread& spread) { return fields_json(spread, kRangeFields); }
Json spread_json(const Spread& spread) { return fields_json(spread, kSpreadFields); }

std::string to_json(const RunRecord& run) {
  std::string text;
  put_json([&text](std::string_view piece) { text += piece; }, run);
  return text;
}

void write_run_json(const std::filesystem::path& path, const RunRecord& run) {
  write_atomically(path, [&run](const TextSink& put) { put_json(put, run); });
}

}  // namespace rueda
