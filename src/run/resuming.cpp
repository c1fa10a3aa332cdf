#include "resuming.hpp"

#include "rueda/record/run_json.hpp"
#include "run_checkpoints.hpp"
#include "run_directory.hpp"

namespace rueda {

void Resuming::begin(TrainConfig& config, const std::vector<std::string>& data) {
  point_ = find_resume_point(world_, config);
  if (!point_) return;
  const auto ranks = static_cast<std::size_t>(world_.size());
  together(world_, [&] { adopt(*point_, config, {.world = ranks, .data = data}); });
}

bool Resuming::wrote_weights(const TrainConfig& config) const {
  if (!point_ || !resumes_in_place(config, point_->checkpoint)) return false;
  return saves_same_weights(point_->manifest, config);
}

std::optional<HostWeights> Resuming::read(const Graph& graph, RunRecord& run) {
  if (!point_) return std::nullopt;
  Snapshot snapshot;
  together(world_, [&] {
    if (world_.rank() == 0) snapshot = read_snapshot(point_->checkpoint, point_->manifest, graph);
  });
  const std::string history = all_gather_text(world_, join(snapshot.history)).front();
  together(world_, [&] { restore_history(run, history, "checkpoint " + point_->checkpoint); });
  const TrainPosition& at = point_->manifest.position;
  run.resumptions.push_back({.at = utc_now(),
                             .checkpoint = point_->checkpoint,
                             .epochs = at.epochs,
                             .steps = at.steps,
                             .ranks = static_cast<std::size_t>(world_.size())});
  if (world_.rank() != 0) return std::nullopt;
  velocities_ = std::move(snapshot.velocities);
  carried_ = std::move(snapshot.carried);
  return HostWeights{std::move(snapshot.parameters), std::move(snapshot.statistics)};
}

void Resuming::restore(Backend& backend, AllReduce& all_reduce, std::span<float> velocities) {
  if (!point_) return;
  broadcast_velocities(world_, backend, velocities, std::move(velocities_));
  if (restore_carried(world_, backend, all_reduce, std::move(carried_))) return;
  point_->remarks.push_back(
      "not bit for bit as without the interruption: what rounding on the wire took was kept for "
      "other ranks or buckets, and is dropped");
}

void Resuming::compare(const std::vector<std::string>& machines,
                       const std::vector<std::pair<std::string, std::string>>& versions) {
  if (point_) compare_machines(*point_, machines, versions);
}

}  // namespace rueda
