#include "record/run_json.hpp"

#include <variant>

#include "record/aggregation.hpp"
#include "record/json_parts.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

Json memory_json(const RankInfo& rank) {
  Json j;
  for (const MemoryPart& part : kMemoryParts) j[part.name] = rank.memory.*part.bytes;
  return j;
}

/// The options, by their names on the command line and in its words.
Json config_json(const TrainConfig& config) {
  const auto to_json = [](const auto& value) -> Json {
    if constexpr (std::is_same_v<decltype(value), const std::monostate&>)
      return nullptr;
    else
      return value;
  };
  Json json;
  for (const TrainOption& option : train_options())
    json[option.name] = std::visit(to_json, value_of(option, config));
  return json;
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

const std::tuple kTimedFields{Field{"seconds", &TimedCompute::seconds},
                              Field{"images", &TimedCompute::images},
                              Field{"jitter_percent", &TimedCompute::jitter_percent},
                              Field{"recorded_in", text_or_null(&TimedCompute::recorded_in)}};

const std::tuple kGapFields{
    Field{"seconds", &StepGap::seconds},
    Field{"usual_seconds", &StepGap::usual},
    Field{"epoch", &StepGap::epoch},
    Field{"step", &StepGap::step},
    Field{"rank", &StepGap::rank},
    Field{"phase", [](const StepGap& gap) { return std::string(kPhaseNames[gap.phase]); }}};

const std::tuple kSpreadFields{
    Field{"count", &Spread::count},        Field{"min", &Spread::min}, Field{"mean", &Spread::mean},
    Field{"median", &Spread::median},      Field{"p90", &Spread::p90}, Field{"max", &Spread::max},
    Field{"deviation", &Spread::deviation}};

const std::tuple kRangeFields{Field{"min", &Spread::min}, Field{"mean", &Spread::mean},
                              Field{"max", &Spread::max}};

const std::tuple kRoofFields{Field{"flops_per_second", &Roof::flops},
                             Field{"bytes_per_second", &Roof::bytes}};
const std::tuple kLayerFields{
    Field{"layer", &LayerTime::layer},
    Field{"pass", [](const LayerTime& t) { return to_string(t.pass); }},
    Field{"seconds", [](const LayerTime& t) { return median_of(t.seconds); }},
    Field{"flops", &LayerTime::flops},
    Field{"bytes", &LayerTime::bytes},
    Field{"roof_seconds", &LayerTime::best}};

Json profile_json(const LayerProfile& profile) {
  return {{"micro_batch", profile.batch},
          {"micro_batches", profile.layers.front().seconds.size()},
          {"roof", profile.roof ? fields_json(*profile.roof, kRoofFields) : Json()},
          {"passes", list_json(profile.layers, kLayerFields)}};
}

Json all_reduce_json(const RunRecord& run) {
  Json j;
  j["algorithm"] = run.all_reduce;
  j["transport"] = run.transport;
  j["gradient_bytes"] = run.gradient_bytes;
  j["bucket_mb"] = run.bucket_mb;
  j["bucket_bytes"] = run.bucket_bytes;
  j["overlaps_backward"] = run.overlaps;
  return j;
}

/// A column for each quantity; null: the GPU does not report it. Null as a whole without samples.
Json samples_json(const std::vector<DeviceSample>& samples) {
  if (samples.empty()) return nullptr;
  Json j;
  j["seconds"] = values_of(samples, &DeviceSample::seconds);
  for (const DeviceQuantity& quantity : kDeviceQuantities)
    j[quantity.name] = values_of(samples, quantity.value);
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
  j["model"] = {{"name", run.config.model},
                {"image_size", run.config.image_size},
                {"trainable_parameters", run.parameters},
                {"non_trainable_parameters", run.statistics},
                {"train_flops_per_image", run.train_flops_per_image}};
  j["data"] = {{"source", run.data_source},
               {"train_images", run.train_images},
               {"test_images", run.test_images}};
  j["batch"] = {
      {"global", run.global_batch},
      {"per_rank", run.rank_batches},
      {"micro_batches", run.config.accumulate},
      {"micro_batch", run.micro_batch},
      {"micro_batch_asked", run.micro_batch_asked == 0 ? Json("max") : Json(run.micro_batch_asked)},
      {"steps_per_epoch", run.steps_per_epoch}};
  // Without workers, the thread that trains prepares batches itself.
  const bool streams = run.config.input == InputMode::stream;
  j["input"] = {{"mode", to_string(run.config.input)},
                {"workers_per_rank", streams ? Json(run.config.input_workers) : Json()}};
  j["timed"] = run.timed ? fields_json(*run.timed, kTimedFields) : Json();
  j["learning_rate"] = run.learning_rate;
  j["all_reduce"] = all_reduce_json(run);
}

/// The document with no epochs in it.
Json frame_json(const RunRecord& run) {
  Json j;
  put_job(j, run);
  j["world_size"] = run.ranks.size();
  j["hosts"] = each_once(values_of(run.ranks, &RankInfo::host));
  j["ranks"] = list_json(run.ranks, kRankFields);
  j["startup"] = pairs_json(startup_items(run.ranks));
  j["resumptions"] = list_json(run.resumptions, kResumptionFields);
  j["checkpoints"] = list_json(run.checkpoints, kCheckpointFields);
  j["audit"] = fields_json(run.audit, kAuditFields);
  j["longest_gap"] = run.longest_gap ? fields_json(*run.longest_gap, kGapFields) : Json();
  j["epochs"] = Json::array();
  j["gpu_samples"] = Json::array();
  for (const auto& samples : run.gpu_samples) j["gpu_samples"].push_back(samples_json(samples));
  if (!run.profile.layers.empty()) j["profile"] = profile_json(run.profile);
  j["summary"] = summary_json(run);
  return j;
}

/// The list of epochs as if it had been dumped with the frame. A document takes
/// many times the memory of its text, and a run has many epochs: there is one
/// epoch's at a time.
void put_epochs(const TextSink& put, const RunRecord& run) {
  constexpr std::string_view kBefore = "{\n  \"epochs\": [";
  constexpr std::string_view kBehind = "\n  ]\n}";
  put("[");
  for (const EpochRecord& e : run.epochs) {
    Json alone;
    alone["epochs"].push_back(epoch_json(e, run));
    const std::string text = text_of(alone, 2);
    const std::size_t length = text.size() - kBefore.size() - kBehind.size();
    put(&e == &run.epochs.front() ? "" : ",");
    put(std::string_view(text).substr(kBefore.size(), length));
  }
  put(run.epochs.empty() ? "]" : "\n  ]");
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

Json json_of(const Spread& spread) { return fields_json(spread, kRangeFields); }
Json spread_json(const Spread& spread) { return fields_json(spread, kSpreadFields); }

std::string to_json(const RunRecord& run) {
  std::string text;
  put_json([&text](std::string_view piece) { text += piece; }, run);
  return text;
}

std::string options_json(const TrainConfig& config) { return text_of(config_json(config)); }

std::string config_text(const TrainConfig& config) {
  const Json json = config_json(config);
  std::string text;
  for (const auto& [option, value] : json.items())
    text += "--" + option + " " + text_of(value) + "\n";
  return text;
}

void write_run_json(const std::filesystem::path& path, const RunRecord& run) {
  write_output(path, [&run](const TextSink& put) { put_json(put, run); });
}

}  // namespace rueda
