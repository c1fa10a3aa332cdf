#include "train_setup.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <span>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "rueda/data/cifar10.hpp"
#include "rueda/model/flops.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/weights/weights_file.hpp"

namespace rueda {
namespace {

/// Whether a launcher started this process, and so decides about its cores.
bool is_launched() {
  constexpr const char* kNames[] = {"OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "PMI_RANK",
                                    "PMIX_RANK"};
  return std::ranges::any_of(kNames, [](const char* name) { return std::getenv(name) != nullptr; });
}

HostWeights download_weights(Replica& replica) {
  HostWeights weights(replica.parameters().size(), replica.running_statistics().size());
  replica.backend().download(weights.first, replica.parameters());
  replica.backend().download(weights.second, replica.running_statistics());
  return weights;
}

}  // namespace

// What gather_rank_infos sends.

static void to_json(nlohmann::json& json, const MemoryNeed& need) {
  for (const MemoryPart& part : kMemoryParts) json.push_back(need.*part.bytes);
}

static void from_json(const nlohmann::json& json, MemoryNeed& need) {
  for (std::size_t i = 0; i < kMemoryParts.size(); ++i)
    json.at(i).get_to(need.*kMemoryParts[i].bytes);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankInfo, local_rank, host, backend, device, uuid, threads,
                                   cores, memory, startup)

void StartupClock::carve(const std::string& item, double seconds) {
  items_.back().second -= seconds;
  items_.emplace_back(item, seconds);
}

void StartupClock::lap(const std::string& item) {
  items_.emplace_back(item, lap_.lap());
  if (is_logged(LogLevel::debug))
    log(LogLevel::debug, fmt::format("start-up: {} took {:.6f} s", item, items_.back().second));
}

RankCores agree_on_cores(Communicator& world, int requested_threads) {
  const std::vector<int> mine = allowed_cores();
  const auto cores = from_bytes<int>(world.all_gather(std::as_bytes(std::span(mine))));
  const auto hosts = all_gather_text(world, world.host());
  NodeCores node{
      .allowed = {}, .online = online_cores(), .quota = cpu_quota(), .launched = is_launched()};
  std::size_t local = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != world.host()) continue;
    if (rank == std::size_t(world.rank())) local = node.allowed.size();
    node.allowed.push_back(cores[rank]);
  }
  return {choose_threads(node, local, requested_threads), core_share(node, local)};
}

Dataset open_data(const TrainConfig& config) {
  Dataset data = config.data == "synthetic" ? draw_synthetic({}) : read_cifar10(config.data);
  if (config.data_limit > 0) data.train.truncate(config.data_limit);
  return data;
}

std::vector<std::string> data_lines(const Dataset& data) {
  std::vector<std::string> lines;
  for (const auto& [name, set] : {std::pair{"training", &data.train}, {"test", &data.test}}) {
    lines.push_back(
        fmt::format("{} images: {}, fingerprint {:x}", name, set->size(), set->fingerprint()));
  }
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
  const auto replace = nlohmann::json::error_handler_t::replace;
  const std::string text = nlohmann::json(mine).dump(-1, ' ', false, replace);
  std::vector<RankInfo> infos;
  for (const std::string& one : all_gather_text(world, text)) {
    infos.push_back(nlohmann::json::parse(one));
    infos.back().rank = int(infos.size()) - 1;
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
  load_weights(graph, file, weights.first, weights.second);
  return weights;
}

void save_weights(const RunRecord& run, const Graph& graph, Replica& replica) {
  if (run.config.save_weights.empty()) return;
  const auto [parameters, statistics] = download_weights(replica);
  std::uint64_t steps = 0;
  for (const EpochRecord& epoch : run.epochs) steps += epoch.steps;
  save_weights(graph, run.config.save_weights, parameters, statistics, steps);
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
