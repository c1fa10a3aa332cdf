#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/statistics.hpp"
#include "mpi/session/session.hpp"
#include "record/run_json.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/timings.hpp"
#include "rueda/train/trainer.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "run/console.hpp"
#include "run/resume_point.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"

namespace rueda {

/// What each rank's bits may depend on, apart from the options.
inline std::vector<std::string> machine_texts(const std::vector<RankInfo>& ranks) {
  return values_of(ranks, [](const RankInfo& rank) {
    return fmt::format("{}, {}, {} thread{}", rank.backend, rank.device, rank.threads,
                       rank.threads == 1 ? "" : "s");
  });
}

/// Of the checkpoint from which a run resumes.
inline CheckpointRecord record_of(const std::string& path, const Manifest& manifest) {
  CheckpointRecord record{.path = path,
                          .epochs = manifest.position.epochs,
                          .steps = manifest.position.steps,
                          .pause_seconds = NAN,
                          .write_seconds = NAN};
  for (const CheckpointFile& file : manifest.files) record.bytes += file.bytes;
  return record;
}

/// Calls before and after training may take this many times --stall-seconds:
/// disks are slow.
inline constexpr double kDiskPatience = 10;

/// The steps by which a run restores the state of a checkpoint. Each is a
/// collective, and does nothing in a run that is not resumed.
class Resuming {
 public:
  explicit Resuming(RankGroup& world) : world_(world) {}

  /// Finds the checkpoint of --resume, and completes `config` from it. `data`
  /// as in Manifest. Throws InputError, the same on every rank.
  void begin(TrainConfig& config, const std::vector<std::string>& data, std::size_t train_images) {
    point_ = find_resume_point(world_, config);
    if (!point_) return;
    const auto ranks = std::size_t(world_.size());
    together(world_, [&] { adopt(*point_, config, ranks, data, train_images); });
  }
  bool active() const noexcept { return point_.has_value(); }
  const std::string& checkpoint() const { return point_->checkpoint; }
  /// Whether the run resumes in its own directory and had the same
  /// --save-weights before: then an existing file is its own.
  bool wrote_weights(const TrainConfig& config) const {
    return point_ && resumes_in_place(config, point_->checkpoint) &&
           saves_same_weights(point_->manifest, config);
  }
  TrainPosition from() const { return point_ ? point_->manifest.position : TrainPosition(); }

  /// Reads the checkpoint, and adds its history and this resumption to `run`.
  /// Returns the weights on rank 0, to be broadcast as others are.
  std::optional<HostWeights> read(const Graph& graph, RunRecord& run) {
    if (!point_) return std::nullopt;
    const std::string history = text_of_rank_0(world_, [&] {
      snapshot_ = read_snapshot(point_->checkpoint, point_->manifest, graph);
      return join(std::exchange(snapshot_.history, {}));
    });
    const TrainPosition& at = point_->manifest.position;
    together(world_, [&] {
      const std::string what = "checkpoint " + point_->checkpoint;
      restore_history(run, history, what);
      require(run.epochs.size() == at.epochs,
              fmt::format("{}: its history has {} epochs and its manifest says {}; resume from "
                          "another",
                          what, run.epochs.size(), at.epochs));
    });
    run.checkpoints.push_back(record_of(point_->checkpoint, point_->manifest));
    run.resumptions.push_back({.at = utc_now(),
                               .checkpoint = point_->checkpoint,
                               .epochs = at.epochs,
                               .steps = at.steps,
                               .ranks = std::size_t(world_.size())});
    if (world_.rank() != 0) return std::nullopt;
    return HostWeights{std::move(snapshot_.parameters), std::move(snapshot_.statistics)};
  }
  /// Restores the velocities of the optimizer.
  void restore(Backend& backend, std::span<float> velocities) {
    if (!point_) return;
    snapshot_.velocities.resize(velocities.size());
    world_.broadcast(std::as_writable_bytes(std::span(snapshot_.velocities)), 0);
    backend.upload(velocities, std::exchange(snapshot_.velocities, {}));
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
  Snapshot snapshot_;  ///< on rank 0: what is still to be restored of it
};

/// Saves checkpoints: rank 0 copies the state of its replica, writes it into
/// the run directory and adds a record of each to `run`.
class RunCheckpoints {
 public:
  /// The references must outlive it. `data` as in Manifest.
  RunCheckpoints(Session& session, RankGroup& world, Replica& replica, RunRecord& run,
                 std::vector<std::string> data)
      : session_(session), world_(world), replica_(replica), run_(run), data_(std::move(data)) {
    if (world_.rank() != 0) return;
    const auto directory = fs::path(run_.config.run_dir) / kCheckpointsName;
    writer_ = std::make_unique<CheckpointWriter>(directory, replica_.graph(), run_.config.keep,
                                                 run_.checkpoints);
  }

  /// TrainerParts::save.
  void save(const TrainPosition& position, std::span<float> velocities) {
    const Stopwatch pause;
    await_writer();
    together(world_, [&] {
      if (!writer_) return;
      Snapshot& copy = writer_->free_snapshot();
      download(replica_.parameters(), copy.parameters);
      download(replica_.running_statistics(), copy.statistics);
      download(velocities, copy.velocities);
      copy.history = history_json(run_);
      writer_->write(manifest_at(position), pause.seconds());
    });
  }
  /// Collective: all are on the disk and were read back, or every rank throws the same RunError.
  void wait_for_writer() {
    together(world_, [this] {
      if (writer_) writer_->wait();
    });
  }

 private:
  /// A disk may take minutes to answer. The ranks wait for it in short calls,
  /// in which the watchdog of training sees no rank that has stopped.
  void await_writer() {
    const Stopwatch watch;
    const double most = kDiskPatience * double(run_.config.stall_seconds);
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

  void download(std::span<float> from, std::vector<float>& to) {
    to.resize(from.size());
    replica_.backend().download(to, from);
  }

  Manifest manifest_at(const TrainPosition& position) const {
    TrainConfig config = run_.config;
    config.bucket_mb = run_.bucket_mb;                                     // what was chosen stays
    if (config.global_batch > 0) config.global_batch = run_.global_batch;  // it may be halved
    return {.position = position,
            .steps_per_epoch = run_.steps_per_epoch,
            .world = run_.ranks.size(),
            .micro_batches = run_.config.accumulate,
            .global_batch = run_.global_batch,
            .written_at = utc_now(),
            .versions = run_.versions,
            .config = options_json(config),
            .data = data_,
            .machines = machine_texts(run_.ranks),
            .files = {}};
  }

  Session& session_;
  RankGroup& world_;
  Replica& replica_;
  RunRecord& run_;
  std::vector<std::string> data_;
  std::unique_ptr<CheckpointWriter> writer_;  ///< on rank 0
};

}  // namespace rueda
