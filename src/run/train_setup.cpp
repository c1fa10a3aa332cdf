#include "run/train_setup.hpp"

#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.hpp"
#include "base/json/json_fields.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "data/cifar10.hpp"
#include "data/synth.hpp"
#include "display/text.hpp"
#include "launch/control_group.hpp"
#include "launch/machine.hpp"
#include "model/flops.hpp"
#include "model/weights/weights_file.hpp"
#include "record/run_json.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

/// The first images of a set may be those of its first classes. A few lack some by chance.
void limit_data(std::size_t limit, Dataset& data) {
  constexpr std::size_t kEnoughOfClass = 10;
  const bool sound = label_fault(data.train, data.class_names).empty();
  data.train.truncate(limit);
  if (!sound || limit < kEnoughOfClass * data.class_names.size()) return;
  if (const std::string fault = label_fault(data.train, data.class_names); !fault.empty())
    log(LogLevel::warn, fmt::format("--data-limit {} takes the first images: {}", limit, fault));
}

/// Reads or draws the data and applies --data-limit. Logs what is odd about it.
Dataset open_data(const TrainConfig& config) {
  Dataset data =
      config.data.path == "synthetic" ? draw_synthetic({}) : read_cifar10(config.data.path);
  for (const std::string& warning : data.warnings) log(LogLevel::warn, warning);
  for (const std::string& remark : data.remarks) log(LogLevel::info, remark);
  if (config.data.limit > data.train.size())
    log(LogLevel::info,
        fmt::format("--data-limit {} is more than the {} training images: all are used",
                    config.data.limit, data.train.size()));
  if (config.data.limit > 0) limit_data(config.data.limit, data);
  return data;
}

std::vector<std::string> data_lines(const Dataset& data) {
  std::vector<std::string> lines;
  for (const auto& [name, set] : {std::pair{"training", &data.train}, {"test", &data.test}}) {
    lines.push_back(
        fmt::format("{} images: {}, fingerprint {:x}", name, set->size(), set->fingerprint()));
  }
  if (data.class_names.size() != kClasses)
    lines.push_back(fmt::format("classes: {}", data.class_names.size()));
  return lines;
}

}  // namespace

// What gather_rank_infos sends.
static const std::tuple kSentFields{Field{"local_rank", &RankInfo::local_rank},
                                    Field{"host", &RankInfo::host},
                                    Field{"backend", &RankInfo::backend},
                                    Field{"device", &RankInfo::device},
                                    Field{"uuid", &RankInfo::uuid},
                                    Field{"threads", &RankInfo::threads},
                                    Field{"cores", &RankInfo::cores},
                                    Field{"startup", &RankInfo::startup},
                                    Field{"limits", &RankInfo::limits}};

void StartupClock::carve(const std::string& item, double seconds) {
  items_.back().second -= seconds;
  items_.emplace_back(item, seconds);
}

void StartupClock::lap(const std::string& item) {
  items_.emplace_back(item, lap_.lap());
  if (is_logged(LogLevel::debug))
    log(LogLevel::debug, fmt::format("start-up: {} took {:.6f} s", item, items_.back().second));
}

AgreedData agree_on_data(RankGroup& group, const TrainConfig& config) {
  AgreedData data;
  together(group, [&] { data.images = open_data(config); });
  data.lines = data_lines(data.images);
  require_same(group, "the data set", fmt::format("{}\n", fmt::join(data.lines, "\n")));
  return data;
}

void describe_training(RunRecord& run, const Dataset& data, const Graph& graph,
                       const RunPlan& plan) {
  run.train_images = data.train.size();
  run.test_images = data.test.size();
  run.data_source = data.source;
  run.classes = std::size_t(graph.classes());
  run.parameters = graph.parameter_count();
  run.statistics = graph.statistics_count();
  run.train_flops_per_image = double(training_flops(graph));
  run.global_batch = plan.global_batch;
  run.steps_per_epoch = plan.schedule.steps_per_epoch;
  run.learning_rate = plan.schedule.base_rate;
  const std::string remark = remark_on_rate(run.config, plan);
  if (!remark.empty()) log(LogLevel::warn, remark);
}

std::vector<RankInfo> gather_rank_infos(Communicator& world, RankInfo mine) {
  mine.local_rank = world.local_rank();
  mine.host = world.host();
  mine.limits = limits_text(control_group_limits(), online_cores());
  const auto memory = all_gather(world, mine.memory);
  std::vector<RankInfo> infos;
  for (const std::string& one : all_gather_text(world, text_of(fields_json(mine, kSentFields)))) {
    const auto json = parse_json(one);
    read_fields(JsonView(json), infos.emplace_back(), kSentFields);
    infos.back().rank = int(infos.size()) - 1;
    infos.back().memory = memory[infos.size() - 1];
  }
  return infos;
}

void upload_weights(Replica& replica, const HostWeights& weights) {
  replica.backend().upload(replica.parameters(), weights.first);
  replica.backend().upload(replica.running_statistics(), weights.second);
  replica.parameters_changed();
}

HostWeights load_weights(const Graph& graph, const std::string& file) {
  HostWeights weights(graph.parameter_count(), graph.statistics_count());
  const std::string prefix = load_weights(graph, file, weights.first, weights.second);
  if (!prefix.empty())
    log(LogLevel::info,
        fmt::format("names in {} begin with '{}', which is left out", file, printable(prefix)));
  return weights;
}

HostWeights download_weights(Replica& replica) {
  HostWeights weights(replica.parameters().size(), replica.running_statistics().size());
  replica.backend().download(weights.first, replica.parameters());
  replica.backend().download(weights.second, replica.running_statistics());
  return weights;
}

std::string save_weights(const RunRecord& run, const Graph& graph, const HostWeights& weights) {
  const std::string file = final_weights(run.config);
  const auto& [parameters, statistics] = weights;
  std::uint64_t steps = 0;
  for (const EpochRecord& epoch : run.epochs) steps += epoch.steps;
  try {
    save_weights(graph, file, parameters, statistics, steps);
    return file;
  } catch (const RunError& error) {
    if (names_weights(run.config.output.save_weights)) throw;
    log(LogLevel::warn,
        fmt::format("the weights are not kept: {}; the run itself is complete", error.what()));
    return "";
  }
}

void broadcast_replica(Communicator& world, Replica& replica) {
  HostWeights weights = download_weights(replica);
  for (std::vector<float>* values : {&weights.first, &weights.second})
    world.broadcast(std::as_writable_bytes(std::span(*values)), 0);
  upload_weights(replica, weights);
}

}  // namespace rueda
