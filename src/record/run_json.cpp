#include "record/run_json.hpp"

#include <algorithm>
#include <variant>

#include "record/aggregation.hpp"
#include "record/json_parts.hpp"
#include "record/recorded_path.hpp"
#include "record/run_fields.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

/// Null where there is no record.
template <typename Record, typename... Fields>
Json fields_or_null(const std::optional<Record>& record, const std::tuple<Fields...>& fields) {
  if (!record) return nullptr;
  return fields_json(*record, fields);
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

const std::tuple kTimedFields{Field{"seconds", &TimedCompute::seconds},
                              Field{"images", &TimedCompute::images},
                              Field{"jitter_percent", &TimedCompute::jitter_percent},
                              Field{"factors", &TimedCompute::factors, if_any},
                              Derived{"recorded_in", text_or_null(&TimedCompute::recorded_in)}};

std::string phase_of(const StepGap& gap) { return std::string(kPhaseNames[gap.phase]); }

const std::tuple kFirstWaitFields{Field{"rank", &FirstWait::rank}, Field{"peer", &FirstWait::peer},
                                  Field{"seconds", &FirstWait::seconds},
                                  Field{"mutual", &FirstWait::mutual}};
Json first_wait_json(const StepGap& gap) { return fields_or_null(gap.waited, kFirstWaitFields); }

const std::tuple kGapFields{
    Field{"seconds", &StepGap::seconds},   Field{"usual_seconds", &StepGap::usual},
    Field{"epoch", &StepGap::epoch},       Field{"step", &StepGap::step},
    Field{"rank", &StepGap::rank},         Derived{"phase", phase_of},
    Derived{"first_wait", first_wait_json}};

const std::tuple kRoofFields{Field{"flops_per_second", &Roof::flops},
                             Field{"bytes_per_second", &Roof::bytes}};
double median_seconds(const LayerTime& t) { return median_of(t.seconds); }

const std::tuple kLayerFields{
    Field{"layer", &LayerTime::layer},  Field{"pass", &LayerTime::pass},
    Derived{"seconds", median_seconds}, Field{"flops", &LayerTime::flops},
    Field{"bytes", &LayerTime::bytes},  Field{"roof_seconds", &LayerTime::best}};

Json profile_json(const LayerProfile& profile) {
  return {{"micro_batch", profile.batch},
          {"micro_batches", profile.layers.front().seconds.size()},
          {"roof", fields_or_null(profile.roof, kRoofFields)},
          {"passes", list_json(profile.layers, kLayerFields)}};
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

Json config_of(const RunRecord& run) { return config_json(run.config); }

Json micro_batch_asked(const RunRecord& run) {
  if (run.micro_batch_asked == 0) return "max";
  return run.micro_batch_asked;
}

/// Without workers, the thread that trains prepares batches itself.
Json input_json(const RunRecord& run) {
  Json j = {{"mode", to_string(run.config.data.input)}, {"workers_per_rank", nullptr}};
  if (run.config.data.input == InputMode::stream)
    j["workers_per_rank"] = run.config.data.input_workers;
  return j;
}

Json timed_json(const RunRecord& run) { return fields_or_null(run.timed, kTimedFields); }

const std::tuple kModelFields{
    Field{"name", in(&RunRecord::config, &TrainConfig::model, &ModelConfig::name), shown},
    Field{"image_size", in(&RunRecord::config, &TrainConfig::model, &ModelConfig::image_size)},
    Field{"classes", &RunRecord::classes, if_any},
    Field{"trainable_parameters", &RunRecord::parameters, if_any},
    Field{"non_trainable_parameters", &RunRecord::statistics, if_any},
    Field{"train_flops_per_image", &RunRecord::train_flops_per_image, or_nan}};

const std::tuple kDataFields{Field{"source", &RunRecord::data_source, if_any},
                             Field{"train_images", &RunRecord::train_images},
                             Field{"test_images", &RunRecord::test_images, if_any}};

const std::tuple kBatchFields{
    Field{"global", &RunRecord::global_batch},
    Field{"per_rank", &RunRecord::rank_batches, if_any},
    Field{"micro_batches", in(&RunRecord::config, &TrainConfig::batch, &BatchConfig::accumulate)},
    Field{"micro_batch", &RunRecord::micro_batch, if_any},
    Derived{"micro_batch_asked", micro_batch_asked},
    Field{"steps_per_epoch", &RunRecord::steps_per_epoch, if_any}};

const std::tuple kAllReduceFields{Field{"algorithm", &RunRecord::all_reduce, shown},
                                  Field{"details", &RunRecord::all_reduce_details, shown, if_any},
                                  Field{"table", &RunRecord::reduce_table, shown, if_any},
                                  Field{"transport", &RunRecord::transport, if_any},
                                  Field{"gradient_bytes", &RunRecord::gradient_bytes, if_any},
                                  Field{"bucket_mb", &RunRecord::bucket_mb, or_nan},
                                  Field{"bucket_bytes", &RunRecord::bucket_bytes, if_any},
                                  Field{"overlaps_backward", &RunRecord::overlaps, if_any}};

std::size_t world_size(const RunRecord& run) { return run.ranks.size(); }
std::vector<std::string> hosts(const RunRecord& run) {
  return each_once(values_of(run.ranks, &RankInfo::host));
}
auto startup(const RunRecord& run) { return startup_items(run.ranks); }
Json gap_json(const RunRecord& run) { return fields_or_null(run.longest_gap, kGapFields); }

/// The options are read by what the program that wrote them called
/// them, which this program may not know.
const std::tuple kRunFields{Field{"command_line", &RunRecord::command_line, if_any},
                            Field{"started_at", &RunRecord::started_at, if_any},
                            Field{"outcome", &RunRecord::outcome, shown},
                            Field{"versions", &RunRecord::versions, shown, if_any},
                            Field{kWorkingDirectory, &RunRecord::working_directory, if_any},
                            Derived{"config", config_of},
                            Field{"model", same_record, kModelFields},
                            Field{"data", same_record, kDataFields},
                            Field{"batch", same_record, kBatchFields},
                            Derived{"input", input_json},
                            Derived{"timed", timed_json},
                            Field{"learning_rate", &RunRecord::learning_rate, or_nan},
                            Field{"all_reduce", same_record, kAllReduceFields},
                            Derived{"world_size", world_size},
                            Derived{"hosts", hosts},
                            Field{"ranks", &RunRecord::ranks, if_any},
                            Derived{"startup", startup},
                            Derived{"resumptions", &RunRecord::resumptions},
                            Derived{"checkpoints", &RunRecord::checkpoints},
                            Derived{"audit", &RunRecord::audit},
                            Derived{"longest_gap", gap_json}};

constexpr const char* kEpochsName = "epochs";

/// The document with no epochs in it.
Json frame_json(const RunRecord& run) {
  Json j;
  j["schema"] = kRunSchema;
  j["schema_version"] = kRunSchemaVersion;
  put_fields(j, run, kRunFields);
  j[kEpochsName] = nullptr;  // its place
  j["gpu_samples"] = Json::array();
  for (const auto& samples : run.gpu_samples) j["gpu_samples"].push_back(samples_json(samples));
  if (!run.profile.layers.empty()) j["profile"] = profile_json(run.profile);
  j["summary"] = summary_json(run);
  return j;
}

/// Puts the text of a value that lies so many levels inside the document. A
/// text in JSON has no line ends of its own.
void put_inside(const TextSink& put, const Json& value, std::size_t levels) {
  const std::string text = text_of(value, 2);
  const std::string indent(2 * levels, ' ');
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t line = std::min(rest.find('\n'), rest.size() - 1) + 1;
    put(rest.substr(0, line));
    rest.remove_prefix(line);
    if (!rest.empty()) put(indent);
  }
}

/// A document takes many times the memory of its text, and a run has many
/// epochs: there is one epoch's at a time.
void put_epochs(const TextSink& put, const RunRecord& run) {
  if (run.epochs.empty()) return put("[]");
  std::string_view before = "[\n    ";
  for (const EpochRecord& e : run.epochs) {
    put(before);
    put_inside(put, epoch_json(e, run), 2);
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
      put_inside(put, value, 1);
    before = ",\n  ";
  }
  put("\n}\n");
}

}  // namespace

void read_facts(const JsonView& j, RunRecord& run) { read_fields(j, run, kRunFields); }

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
