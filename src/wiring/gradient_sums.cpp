#include "gradient_sums.hpp"

#include <algorithm>

#include "make_all_reduce.hpp"
#include "reduce_tables.hpp"
#include "rueda/backend/bucket_plan.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "transport.hpp"

namespace rueda {
namespace {

void record_buckets(RunRecord& run, const std::vector<std::size_t>& ends) {
  run.gradient_bytes = ends.back() * sizeof(float);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    run.bucket_bytes.push_back((end - begin) * sizeof(float));
    begin = end;
  }
}

/// Collective: what `auto` would take for the longest bucket, where that is another algorithm than
/// the ring and its order of additions was not asked for.
std::string other_choice(const ReduceSettings& settings, const ReducePlace& place,
                         const RunRecord& run) {
  if (settings.algorithm != Algorithm::ring || settings.order == ReduceOrder::fixed) return "";
  const std::size_t longest = std::ranges::max(run.bucket_bytes);
  const Algorithm chosen = automatic_choice(settings, place, longest);
  return chosen == Algorithm::ring ? "" : to_string(chosen);
}

}  // namespace

GradientSums open_gradient_sums(Communicator& world, RunRecord& run, const Graph& graph,
                                Backend& backend) {
  const TrainConfig& config = run.config;
  GradientSums sums;
  sums.bucket_ends = plan_buckets(
      graph, {.most_bytes = bucket_bytes(config), .tail_apart = config.wire != Wire::fp32});
  record_buckets(run, sums.bucket_ends);
  ReduceDevice& device = backend.reduce_device();
  const TransportDecision decision = agree_on_transport(world, config.transport, device);
  run.transport = to_string(decision.transport);
  sums.warning = decision.warning;
  const ReduceSettings settings =
      reduce_settings(world, config, backend.name(), decision.transport);
  if (!config.reduce_table.empty()) run.reduce_table_hash = rows_hash(settings.table);
  const ReducePlace place{world, device, decision.transport, GradientLayout(graph).memory()};
  sums.all_reduce = make_all_reduce(settings, place);
  run.all_reduce = describe_reduce(settings, *sums.all_reduce);
  run.all_reduce_details = sums.all_reduce->details();
  run.auto_all_reduce = other_choice(settings, place, run);
  return sums;
}

std::unique_ptr<Watchdog> watch_sums(const Communicator& world, const TrainConfig& config,
                                     const ReduceJournal& journal) {
  if (config.stall_seconds == 0 || world.size() == 1) return nullptr;
  return std::make_unique<Watchdog>(Watched{.rank = world.rank(),
                                            .host = world.host(),
                                            .journal = journal,
                                            .seconds = static_cast<double>(config.stall_seconds)});
}

}  // namespace rueda
