#include "run/train_setup.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <span>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/bounded_json.hpp"
#include "base/clock.hpp"
#include "base/json_fields.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "display/text.hpp"
#include "launch/control_group.hpp"
#include "model/flops.hpp"
#include "model/weights/weights_file.hpp"
#include "predict/predict.hpp"
#include "record/run_json.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

HostWeights download_weights(Replica& replica) {
  HostWeights weights(replica.parameters().size(), replica.running_statistics().size());
  replica.backend().download(weights.first, replica.parameters());
  replica.backend().download(weights.second, replica.running_statistics());
  return weights;
}

/// Seconds of a backward pass over `count` images: the least of three. A GPU
/// records the second one and replays it as the third.
double backward_seconds(const ImageSet& set, std::size_t count, int side, Replica& replica) {
  if (count == 0) return 0;
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < count; ++i) indices.push_back(std::uint32_t(i % set.size()));
  Backend& backend = replica.backend();
  const auto held = backend.hold(set);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    replica.load({held.get(), {indices, {.image_size = side}}});
    least = std::min(least, replica.compute(1.0F / float(count)).backward);
  }
  backend.zero(replica.gradients());
  backend.finish();
  return least;
}

/// Collective: what a sum costs, by the medians of two lengths. The first sum of each opens
/// connections.
predict::Link sum_cost(RankGroup& group, Replica& replica, AllReduce& all_reduce) {
  constexpr int kSums = 5;
  ReduceJournal unread;
  std::vector<predict::PairRow> rows;
  for (const std::size_t most : {std::size_t{1} << 17, std::size_t{1} << 20}) {
    const auto slice = replica.gradients().first(std::min(most, replica.gradients().size()));
    std::vector<double> seconds;
    for (int i = 0; i <= kSums; ++i) {
      group.barrier();
      const Stopwatch watch;
      replica.backend().reduce_device().wait(all_reduce.sum(slice, {}, unread));
      seconds.push_back(max_over_ranks(group, watch.seconds()));
    }
    seconds.erase(seconds.begin());
    rows.push_back({1, double(slice.size_bytes()), median_of(seconds)});
  }
  const auto fit = predict::fit_pair(rows);
  return {fit.first, fit.second};
}

}  // namespace

double measure_bucket_mb(RankGroup& group, const TrainConfig& config,
                         const std::optional<TimedCompute>& timed, const RunPlan& plan,
                         const ImageSet& images, Replica& replica, AllReduce& all_reduce) {
  const std::size_t count =
      plan.rank_samples(std::min(plan.global_batch, images.size()), std::size_t(group.rank()));
  double backward = 0;
  together(group, [&] {
    if (timed)
      backward = timed->seconds * predict::ComputeModel().backward_share;
    else
      backward = backward_seconds(images, count, config.image_size, replica);
  });
  backward = max_over_ranks(group, backward);
  const predict::Link sum = sum_cost(group, replica, all_reduce);
  const double mb = predict::choose_bucket_mb(replica.graph(), sum, backward);
  return all_gather(group, mb).front();  // ranks may differ in the last bits
}

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

Dataset open_data(const TrainConfig& config) {
  Dataset data = config.data == "synthetic" ? draw_synthetic({}) : read_cifar10(config.data);
  for (const std::string& warning : data.warnings) log(LogLevel::warn, warning);
  for (const std::string& remark : data.remarks) log(LogLevel::info, remark);
  if (config.data_limit > data.train.size())
    log(LogLevel::info,
        fmt::format("--data-limit {} is more than the {} training images: all are used",
                    config.data_limit, data.train.size()));
  if (config.data_limit > 0) data.train.truncate(config.data_limit);
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

void describe_training(RunRecord& run, const Dataset& data, const Graph& graph,
                       const RunPlan& plan) {
  run.train_images = data.train.size();
  run.test_images = data.test.size();
  run.data_source = data.source;
  run.parameters = graph.parameter_count();
  run.statistics = graph.statistics_count();
  run.train_flops_per_image = double(training_flops(graph));
  run.global_batch = plan.global_batch;
  run.steps_per_epoch = plan.schedule.steps_per_epoch;
  run.learning_rate = plan.schedule.base_rate;
  for (std::size_t rank = 0; rank < plan.world; ++rank)
    run.rank_batches.push_back(plan.rank_samples(plan.global_batch, rank));
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
    log(LogLevel::info, fmt::format("the names in {} all begin with '{}', which is left out", file,
                                    printable(prefix)));
  return weights;
}

void save_weights(const RunRecord& run, const Graph& graph, Replica& replica) {
  const std::string file = final_weights(run.config);
  if (file.empty()) return;
  const auto [parameters, statistics] = download_weights(replica);
  std::uint64_t steps = 0;
  for (const EpochRecord& epoch : run.epochs) steps += epoch.steps;
  try {
    save_weights(graph, file, parameters, statistics, steps);
  } catch (const RunError& error) {
    if (names_weights(run.config.save_weights)) throw;
    log(LogLevel::warn,
        fmt::format("the weights are not kept: {}; the run itself is complete", error.what()));
  }
}

void broadcast_replica(Communicator& world, Replica& replica) {
  HostWeights weights = download_weights(replica);
  for (std::vector<float>* values : {&weights.first, &weights.second})
    world.broadcast(std::as_writable_bytes(std::span(*values)), 0);
  upload_weights(replica, weights);
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace rueda
