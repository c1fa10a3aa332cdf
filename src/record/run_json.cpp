#include "record/run_json.hpp"

#include <variant>

#include "record/aggregation.hpp"
#include "record/json_parts.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

/// Null where there is no record.
template <typename Record, typename... Fields>
Json fields_or_null(const std::optional<Record>& record, const std::tuple<Fields...>& fields) {
  if (!record) return nullptr;
  return fields_json(*record, fields);
}

Json memory_json(const RankInfo& rank) {
  Json j;
  for (const MemoryPart& part : kMemoryParts) j[part.name] = rank.memory.*part.bytes;
  return j;
}

/// An option's value; null where it has none.
struct PutValue {
  Json& at;

  void operator()(std::monostate) const { at = nullptr; }
  void operator()(const auto& value) const { at = value; }
};

/// The options, by their names on the command line and in its words.
Json config_json(const TrainConfig& config) {
  Json json;
  for (const TrainOption& option : train_options())
    std::visit(PutValue{json[option.name]}, value_of(option, config));
  return json;
}

std::size_t memory_bytes(const RankInfo& rank) { return rank.memory.total(); }

const std::tuple kRankFields{
    Field{"rank", &RankInfo::rank},       Field{"local_rank", &RankInfo::local_rank},
    Field{"host", &RankInfo::host},       Field{"backend", &RankInfo::backend},
    Field{"device", &RankInfo::device},   Field{"uuid", text_or_null(&RankInfo::uuid)},
    Field{"threads", &RankInfo::threads}, Field{"cores", &RankInfo::cores},
    Field{"memory_bytes", memory_bytes},  Field{"memory", memory_json},
    Field{"startup", &RankInfo::startup}};

const std::tuple kTimedFields{Field{"seconds", &TimedCompute::seconds},
                              Field{"images", &TimedCompute::images},
                              Field{"jitter_percent", &TimedCompute::jitter_percent},
                              Field{"recorded_in", text_or_null(&TimedCompute::recorded_in)}};

std::string phase_of(const StepGap& gap) { return std::string(kPhaseNames[gap.phase]); }

const std::tuple kGapFields{
    Field{"seconds", &StepGap::seconds}, Field{"usual_seconds", &StepGap::usual},
    Field{"epoch", &StepGap::epoch},     Field{"step", &StepGap::step},
    Field{"rank", &StepGap::rank},       Field{"phase", phase_of}};

const std::tuple kSpreadFields{
    Field{"count", &Spread::count},        Field{"min", &Spread::min}, Field{"mean", &Spread::mean},
    Field{"median", &Spread::median},      Field{"p90", &Spread::p90}, Field{"max", &Spread::max},
    Field{"deviation", &Spread::deviation}};

const std::tuple kRangeFields{Field{"min", &Spread::min}, Field{"mean", &Spread::mean},
                              Field{"max", &Spread::max}};

const std::tuple kRoofFields{Field{"flops_per_second", &Roof::flops},
                             Field{"bytes_per_second", &Roof::bytes}};
double median_seconds(const LayerTime& t) { return median_of(t.seconds); }

const std::tuple kLayerFields{
    Field{"layer", &LayerTime::layer}, Field{"pass", &LayerTime::pass},
    Field{"seconds", median_seconds},  Field{"flops", &LayerTime::flops},
    Field{"bytes", &LayerTime::bytes}, Field{"roof_seconds", &LayerTime::best}};

Json profile_json(const LayerProfile& profile) {
  return {{"micro_batch", profile.batch},
          {"micro_batches", profile.layers.front().seconds.size()},
          {"roof", fields_or_null(profile.roof, kRoofFields)},
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
  j["versions"] = json_of(run.versions);
  j["config"] = config_json(run.config);
  j["model"] = {{"name", run.config.model},
                {"image_size", run.config.image_size},
                {"trainable_parameters", run.parameters},
                {"non_trainable_parameters", run.statistics},
                {"train_flops_per_image", run.train_flops_per_image}};
  j["data"] = {{"source", run.data_source},
               {"train_images", run.train_images},
               {"test_images", run.test_images}};
  Json micro_batch_asked = "max";
  if (run.micro_batch_asked != 0) micro_batch_asked = run.micro_batch_asked;
  j["batch"] = {{"global", run.global_batch},
                {"per_rank", run.rank_batches},
                {"micro_batches", run.config.accumulate},
                {"micro_batch", run.micro_batch},
                {"micro_batch_asked", micro_batch_asked},
                {"steps_per_epoch", run.steps_per_epoch}};
  // Without workers, the thread that trains prepares batches itself.
  j["input"] = {{"mode", to_string(run.config.input)}, {"workers_per_rank", nullptr}};
  if (run.config.input == InputMode::stream)
    j["input"]["workers_per_rank"] = run.config.input_workers;
  j["timed"] = fields_or_null(run.timed, kTimedFields);
  j["learning_rate"] = run.learning_rate;
  j["all_reduce"] = all_reduce_json(run);
}

constexpr const char* kEpochsName = "epochs";

/// The document with no epochs in it.
Json frame_json(const RunRecord& run) {
  Json j;
  put_job(j, run);
  j["world_size"] = run.ranks.size();
  j["hosts"] = each_once(values_of(run.ranks, &RankInfo::host));
  j["ranks"] = list_json(run.ranks, kRankFields);
  j["startup"] = json_of(startup_items(run.ranks));
  j["resumptions"] = json_of(run.resumptions);
  j["checkpoints"] = json_of(run.checkpoints);
  j["audit"] = json_of(run.audit);
  j["longest_gap"] = fields_or_null(run.longest_gap, kGapFields);
  j[kEpochsName] = nullptr;  // its place
  j["gpu_samples"] = Json::array();
  for (const auto& samples : run.gpu_samples) j["gpu_samples"].push_back(samples_json(samples));
  if (!run.profile.layers.empty()) j["profile"] = profile_json(run.profile);
  j["summary"] = summary_json(run);
  return j;
}

/// The text of a value so many levels inside the document. A text in JSON has
/// no line ends of its own.
std::string text_inside(const Json& value, std::size_t levels) {
  std::string text;
  for (const char c : text_of(value, 2)) {
    text += c;
    if (c == '\n') text.append(2 * levels, ' ');
  }
  return text;
}

/// A document takes many times the memory of its text, and a run has many
/// epochs: there is one epoch's at a time.
void put_epochs(const TextSink& put, const RunRecord& run) {
  if (run.epochs.empty()) return put("[]");
  std::string_view before = "[\n    ";
  for (const EpochRecord& e : run.epochs) {
    put(before);
    put(text_inside(epoch_json(e, run), 2));
    before = ",\n    ";
  }
  put("\n  ]");
}

void put_json(const TextSink& put, const RunRecord& run) {
  const Json frame = frame_json(run);
  std::string_view before = "{\n  ";
  for (const auto& [name, value] : frame.items()) {
    put(before);
    put(text_of(Json(name)) + ": ");
    if (name == kEpochsName)
      put_epochs(put, run);
    else
      put(text_inside(value, 1));
    before = ",\n  ";
  }
  put("\n}\n");
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
