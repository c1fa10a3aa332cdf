#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "console.hpp"
#include "mpi/session/session.hpp"
#include "resume_point.hpp"
#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/timings.hpp"
#include "rueda/train/trainer.hpp"
#include "run_directory.hpp"
#include "train_setup.hpp"

namespace rueda {

/// What the bits of each rank may depend on, apart from the options.
inline std::vector<std::string> machine_texts(const std::vector<RankInfo>& ranks) {
  std::vector<std::string> texts;
  for (const RankInfo& rank : ranks) {
    texts.push_back(fmt::format("{}, {}, {} thread{}", rank.backend, rank.device, rank.threads,
                                rank.threads == 1 ? "" : "s"));
  }
  return texts;
}

/// Collective: gives every rank what it carries over from sum to sum. `carried` is that of rank 0.
/// Does nothing and returns false where it was of other ranks or buckets.
inline bool restore_carried(RankGroup& world, Backend& backend, AllReduce& all_reduce,
                            std::vector<std::vector<float>> carried) {
  const auto parts = all_reduce.carried();
  std::size_t floats = 0;
  for (const auto& part : parts) floats += part.size();
  const std::vector<std::size_t> counts = all_gather(world, floats);  // by rank
  if (carried.empty() && std::ranges::max(counts) == 0) carried.resize(counts.size());
  const bool fits =
      std::ranges::equal(carried, counts, {}, [](const auto& one) { return one.size(); });
  if (!all_gather(world, fits).front()) return false;
  carried.resize(counts.size());
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    carried[rank].resize(counts[rank]);
    world.broadcast(std::as_writable_bytes(std::span(carried[rank])), 0);
  }
  std::span<const float> mine = carried[std::size_t(world.rank())];
  for (const auto& part : parts) {
    backend.upload(part, mine.first(part.size()));
    mine = mine.subspan(part.size());
  }
  return true;
}

/// Waiting around training is this much more patient than --stall-seconds: for disks.
inline constexpr double kPatience = 10;

/// The steps by which a run restores the state of a checkpoint. Each is a collective, and does
/// nothing in a run that is not resumed.
class Resuming {
 public:
  explicit Resuming(RankGroup& world) : world_(world) {}

  /// Finds the checkpoint that `config.resume` names, and completes `config` from it. `data` as in
  /// Manifest. Throws InputError, the same on every rank.
  void begin(TrainConfig& config, const std::vector<std::string>& data) {
    point_ = find_resume_point(world_, config);
    if (!point_) return;
    const auto ranks = std::size_t(world_.size());
    together(world_, [&] { adopt(*point_, config, ranks, data); });
  }
  bool active() const noexcept { return point_.has_value(); }
  const std::string& checkpoint() const { return point_->checkpoint; }
  /// Whether the run resumes in its own directory and had the same --save-weights before: then an
  /// existing file is its own.
  bool wrote_weights(const TrainConfig& config) const {
    if (!point_ || !resumes_in_place(config, point_->checkpoint)) return false;
    return saves_same_weights(point_->manifest, config);
  }
  TrainPosition from() const { return point_ ? point_->manifest.position : TrainPosition(); }

  /// Reads the checkpoint, and adds its history and this resumption to `run`. Returns the weights
  /// on rank 0, to be broadcast as others are.
  std::optional<HostWeights> read(const Graph& graph, RunRecord& run) {
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
  /// Restores every rank's velocities and what its all-reduce carries over. Every bucket must have
  /// been summed once.
  void restore(Backend& backend, AllReduce& all_reduce, std::span<float> velocities) {
    if (!point_) return;
    velocities_.resize(velocities.size());
    world_.broadcast(std::as_writable_bytes(std::span(velocities_)), 0);
    backend.upload(velocities, std::exchange(velocities_, {}));
    if (restore_carried(world_, backend, all_reduce, std::move(carried_))) return;
    point_->remarks.push_back(
        "not bit for bit as without the interruption: what rounding on the wire took was kept for "
        "other ranks or buckets, and is dropped");
  }

  /// Lines for the user, also on other machines and versions, which may change the last bits.
  std::vector<std::string> remarks(const RunRecord& run) {
    if (!point_) return {};
    compare_machines(*point_, machine_texts(run.ranks), run.versions);
    return point_->remarks;
  }

 private:
  RankGroup& world_;
  std::optional<ResumePoint> point_;
  std::vector<float> velocities_;            ///< on rank 0
  std::vector<std::vector<float>> carried_;  ///< on rank 0, by rank
};

/// Saves checkpoints: copies the state of the replicas to rank 0, which writes it into the run
/// directory and adds a record of each to `run`.
class RunCheckpoints final : public CheckpointSink {
 public:
  /// The arguments must outlive it.
  RunCheckpoints(Session& session, RankGroup& world, const Graph& graph, AllReduce& all_reduce,
                 RunRecord& run)
      : session_(session), world_(world), graph_(graph), all_reduce_(all_reduce), run_(run) {}
  /// Call before the first save, once `run` has its ranks. `data` as in Manifest.
  void open(std::vector<std::string> data) {
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

  void save(const TrainState& state) override {
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
  /// Collective: returns when all saved checkpoints are on the disk and were read back. Throws
  /// RunError, the same on every rank, if that failed.
  void wait_for_writer() {
    together(world_, [this] {
      if (writer_) keep_records();
    });
  }

 private:
  /// A disk may take minutes to answer (a file system that fails over). The ranks wait for it in
  /// short calls, so that the watchdog of training, which looks for ranks that stopped, sees none.
  void await_writer() {
    const Stopwatch watch;
    const double most = kPatience * double(run_.config.stall_seconds);
    for (bool busy = true; busy;) {
      together(world_, [&] {
        busy = writer_ && !writer_->wait_for(std::chrono::milliseconds(500));
        if (busy && most > 0 && watch.seconds() > most) leave_disk(watch.seconds());
      });
      busy = all_gather(world_, busy).front();
    }
  }

  /// Ends the job at once: an orderly end would wait for the thread that writes.
  [[noreturn]] void leave_disk(double seconds) {
    print_error(fmt::format(
        "the last checkpoint is still being written after {} s: look at the disk of {}, and go on "
        "with --resume auto from the checkpoint before it, if there is one",
        std::lround(seconds), run_.config.run_dir));
    session_.abort(ExitCode::run_failed);
  }

  void keep_records() {
    for (CheckpointRecord& record : writer_->take_records())
      run_.checkpoints.push_back(std::move(record));
  }

  void take_copy(const TrainState& state, Snapshot& copy) {
    Backend& backend = state.replica.backend();
    const auto download = [&backend](std::span<float> from, std::vector<float>& to) {
      to.resize(from.size());
      backend.download(to, from);
    };
    download(state.replica.parameters(), copy.parameters);
    download(state.replica.running_statistics(), copy.statistics);
    download(state.velocities, copy.velocities);
    copy.history = history_json(state.run);
  }

  std::vector<std::vector<float>> gather_carried(Backend& backend) {
    if (!run_.config.wire_error_feedback) return {};
    std::vector<float> values;
    for (const auto& part : all_reduce_.carried()) {
      values.resize(values.size() + part.size());
      backend.download(std::span(values).last(part.size()), part);
    }
    return from_bytes<float>(world_.gather(std::as_bytes(std::span(values)), 0));
  }

  Session& session_;
  RankGroup& world_;
  const Graph& graph_;
  AllReduce& all_reduce_;
  RunRecord& run_;
  Manifest facts_;                            ///< all but position, time and files
  std::unique_ptr<CheckpointWriter> writer_;  ///< on rank 0
};

}  // namespace rueda
