#include "checkpoints.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "log.hpp"
#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/train/timings.hpp"
#include "run_directory.hpp"

namespace rueda {
namespace {

using Parts = std::vector<std::span<float>>;

constexpr std::chrono::milliseconds kBeat{500};

std::size_t floats_of(const Parts& parts) {
  std::size_t count = 0;
  for (const auto& part : parts) count += part.size();
  return count;
}

/// All parts in order, in host memory.
std::vector<float> download_all(Backend& backend, const Parts& parts) {
  std::vector<float> values(floats_of(parts));
  std::size_t begin = 0;
  for (const auto& part : parts) {
    backend.download(std::span(values).subspan(begin, part.size()), part);
    begin += part.size();
  }
  return values;
}

void upload_all(Backend& backend, std::span<const float> values, const Parts& parts) {
  for (const auto& part : parts) {
    backend.upload(part, values.first(part.size()));
    values = values.subspan(part.size());
  }
}

void resize_and_download(Backend& backend, std::span<float> from, std::vector<float>& to) {
  to.resize(from.size());
  backend.download(to, from);
}

/// What the bits of each rank may depend on, apart from the options.
std::vector<std::string> machine_texts(const std::vector<RankInfo>& ranks) {
  std::vector<std::string> texts;
  for (const RankInfo& rank : ranks) {
    texts.push_back(fmt::format("{}, {}, {} thread{}", rank.backend, rank.device, rank.threads,
                                rank.threads == 1 ? "" : "s"));
  }
  return texts;
}

/// Collective: copies rank 0's velocities to the device of every rank.
void broadcast_velocities(RankGroup& world, Backend& backend, std::span<float> velocities,
                          std::vector<float> values) {
  values.resize(velocities.size());
  world.broadcast(std::as_writable_bytes(std::span(values)), 0);
  backend.upload(velocities, values);
}

/// Collective: gives every rank what it carries over from sum to sum. `carried` is that of rank 0.
/// Does nothing and returns false where it was of other ranks or buckets.
bool restore_carried(RankGroup& world, Backend& backend, AllReduce& all_reduce,
                     std::vector<std::vector<float>> carried) {
  const auto parts = all_reduce.carried();
  const std::vector<std::size_t> counts = all_gather(world, floats_of(parts));  // by rank
  if (carried.empty() && std::ranges::max(counts) == 0) carried.resize(counts.size());
  const bool fits =
      std::ranges::equal(carried, counts, {}, [](const auto& one) { return one.size(); });
  if (!all_gather(world, fits).front()) return false;
  carried.resize(counts.size());
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    carried[rank].resize(counts[rank]);
    world.broadcast(std::as_writable_bytes(std::span(carried[rank])), 0);
  }
  upload_all(backend, carried[std::size_t(world.rank())], parts);
  return true;
}

}  // namespace

void Resuming::begin(TrainConfig& config, const std::vector<std::string>& data) {
  point_ = find_resume_point(world_, config);
  if (!point_) return;
  const auto ranks = std::size_t(world_.size());
  together(world_, [&] { adopt(*point_, config, ranks, data); });
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
                             .ranks = std::size_t(world_.size())});
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

std::vector<std::string> Resuming::remarks(const RunRecord& run) {
  if (!point_) return {};
  compare_machines(*point_, machine_texts(run.ranks), run.versions);
  return point_->remarks;
}

void RunCheckpoints::open(std::vector<std::string> data) {
  facts_.steps_per_epoch = run_.steps_per_epoch;
  facts_.world = run_.ranks.size();
  facts_.micro_batches = run_.config.accumulate;
  facts_.global_batch = run_.global_batch;
  facts_.versions = run_.versions;
  facts_.config = options_json(run_.config);
  facts_.data = std::move(data);
  facts_.machines = machine_texts(run_.ranks);
  if (world_.rank() != 0) return;
  const auto directory = std::filesystem::path(run_.config.run_dir) / kCheckpointsName;
  writer_ = std::make_unique<CheckpointWriter>(directory, graph_, run_.config.keep);
}

/// A disk may take minutes to answer (a file system that fails over). The ranks wait for it in
/// short calls, so that the watchdog of training, which looks for ranks that stopped, sees none.
void RunCheckpoints::await_writer() {
  const Stopwatch watch;
  const double most = kPatience * double(run_.config.stall_seconds);
  for (bool busy = true; busy;) {
    together(world_, [&] {
      busy = writer_ && !writer_->wait_for(kBeat);
      if (busy && most > 0 && watch.seconds() > most) leave_disk(watch.seconds());
    });
    busy = all_gather(world_, busy).front();
  }
}

/// Ends the job at once: an orderly end would wait for the thread that writes.
void RunCheckpoints::leave_disk(double seconds) {
  print_error(fmt::format(
      "the last checkpoint is still being written after {} s: look at the disk of {}, and go on "
      "with --resume auto from the checkpoint before it, if there is one",
      std::lround(seconds), run_.config.run_dir));
  session_.abort(ExitCode::run_failed);
}

void RunCheckpoints::save(const TrainState& state) {
  const Stopwatch pause;
  await_writer();
  Snapshot* copy = nullptr;
  together(world_, [&] {
    if (writer_) copy = &writer_->free_snapshot();
  });
  auto carried = gather_carried(state.replica.backend());
  together(world_, [&] {
    if (copy == nullptr) return;
    copy->carried = std::move(carried);
    take_copy(state, *copy);
    Manifest manifest = facts_;
    manifest.position = state.position;
    manifest.written_at = utc_now();
    keep_records();
    writer_->write(std::move(manifest), pause.seconds());
  });
}

void RunCheckpoints::take_copy(const TrainState& state, Snapshot& copy) {
  Backend& backend = state.replica.backend();
  resize_and_download(backend, state.replica.parameters(), copy.parameters);
  resize_and_download(backend, state.replica.running_statistics(), copy.statistics);
  resize_and_download(backend, state.velocities, copy.velocities);
  copy.history = history_json(state.run);
}

std::vector<std::vector<float>> RunCheckpoints::gather_carried(Backend& backend) {
  if (!run_.config.wire_error_feedback) return {};
  const std::vector<float> values = download_all(backend, all_reduce_.carried());
  return from_bytes<float>(world_.gather(std::as_bytes(std::span(values)), 0));
}

void RunCheckpoints::wait_for_writer() {
  together(world_, [this] {
    if (writer_) keep_records();
  });
}

void RunCheckpoints::keep_records() {
  for (CheckpointRecord& record : writer_->take_records())
    run_.checkpoints.push_back(std::move(record));
}

}  // namespace rueda
