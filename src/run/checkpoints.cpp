#include "run/checkpoints.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "display/text.hpp"
#include "record/run_json.hpp"
#include "run/resume/taken_options.hpp"
#include "run/run_directory.hpp"
#include "train/epoch_end.hpp"

namespace rueda {
namespace {

std::string machine_text(const RankInfo& rank) {
  return fmt::format("{}, {}, {}", rank.backend, rank.device,
                     counted(std::size_t(rank.threads), "thread"));
}

/// Each rank's bits may depend on its machine, apart from the options.
std::vector<std::string> machine_texts(const std::vector<RankInfo>& ranks) {
  return values_of(ranks, machine_text);
}

/// The record of the checkpoint from which a run resumes.
CheckpointRecord record_of(const std::string& path, const Manifest& manifest) {
  CheckpointRecord record{.path = path,
                          .epochs = manifest.position.epochs,
                          .steps = manifest.position.steps,
                          .pause_seconds = NAN,
                          .write_seconds = NAN};
  for (const CheckpointFile& file : manifest.files) record.bytes += file.bytes;
  return record;
}

}  // namespace

void Resuming::find(TrainConfig& config, DirectoryClaim& claim) {
  ResumePoint found;
  settle_on_rank_0(world_, config, [&] {
    claim = claim_to_resume(config);
    found = complete_by_checkpoint(config);
    if (!found.checkpoint.empty()) note_checkpoint(found, "resumes from");
  });
  point_ = decode(text_of_rank_0(world_, [&] { return encode(found); }));
}

void Resuming::begin(TrainConfig& config, const std::vector<std::string>& data,
                     std::size_t train_images) {
  if (!point_) return;
  const auto ranks = std::size_t(world_.size());
  settle_on_rank_0(world_, config, [&] { adopt(*point_, config, ranks, data, train_images); });
}

bool Resuming::wrote_weights(const TrainConfig& config) const {
  return point_ && resumes_in_place(config, point_->checkpoint) &&
         saves_same_weights(point_->manifest, config);
}

TrainPosition Resuming::from() const {
  if (!point_) return {};
  return point_->manifest.position;
}

std::string Resuming::reduce_table() const {
  if (!point_ || point_->manifest.world != std::size_t(world_.size())) return "";
  return point_->manifest.reduce_table;
}

void Resuming::read(const Graph& graph, RunRecord& run) {
  if (!point_) return;
  const std::string history = text_of_rank_0(world_, [&] {
    snapshot_ = read_snapshot(point_->checkpoint, graph);
    return join(std::exchange(snapshot_.history, {}));
  });
  const TrainPosition& at = point_->manifest.position;
  together(world_, [&] {
    const std::string what = "checkpoint " + point_->checkpoint;
    restore_history(run, history, what);
    require(run.epochs.size() == at.epochs,
            fmt::format("{}: its history has {} and its manifest says {}; resume from another",
                        what, counted(run.epochs.size(), "epoch"), at.epochs));
  });
  run.checkpoints.push_back(record_of(point_->checkpoint, point_->manifest));
  run.resumptions.push_back({.at = utc_now(),
                             .checkpoint = point_->checkpoint,
                             .epochs = at.epochs,
                             .steps = at.steps,
                             .ranks = std::size_t(world_.size())});
}

std::string Resuming::ended(const TrainConfig& config, const RunRecord& run) {
  const bool over =
      run.epochs.size() >= config.training.epochs || reached_target(config.training, run);
  if (!point_ || !over || point_->manifest.position.steps > 0) return "";
  return text_of_rank_0(world_, [&]() -> std::string {
    if (!resumes_in_place(config, point_->checkpoint)) return "";
    return outcome_after(config.output.run_dir, run.epochs.size());
  });
}

std::optional<HostWeights> Resuming::take_weights() {
  if (!point_ || world_.rank() != 0) return std::nullopt;
  return HostWeights{std::move(snapshot_.parameters), std::move(snapshot_.statistics)};
}

void Resuming::restore(Backend& device, std::span<float> velocities) {
  if (!point_) return;
  snapshot_.velocities.resize(velocities.size());
  world_.broadcast(std::as_writable_bytes(std::span(snapshot_.velocities)), 0);
  device.upload(velocities, std::exchange(snapshot_.velocities, {}));
}

void Resuming::compare_machines(const RunRecord& run) const {
  if (point_) rueda::compare_machines(*point_, machine_texts(run.ranks), run.versions);
}

RunCheckpoints::RunCheckpoints(Job& job, Replica& replica, RunRecord& run,
                               std::vector<std::string> data)
    : job_(job), replica_(replica), run_(run), data_(std::move(data)) {
  if (!job_.speaks()) return;
  const auto directory = fs::path(run_.config.output.run_dir) / kCheckpointsName;
  writer_ = std::make_unique<CheckpointWriter>(directory, replica_.graph(),
                                               run_.config.checkpoints.keep, run_.checkpoints);
}

void RunCheckpoints::save(const TrainPosition& position, std::span<float> velocities) {
  const Stopwatch pause;
  await_writer();
  job_.on_rank_0([&] {
    Snapshot& copy = writer_->free_snapshot();
    download(replica_.parameters(), copy.parameters);
    download(replica_.running_statistics(), copy.statistics);
    download(velocities, copy.velocities);
    copy.history = history_.text(run_);
    writer_->write(manifest_at(position), pause.seconds());
  });
}

void RunCheckpoints::wait_for_writer() {
  job_.on_rank_0([this] { writer_->wait(); });
}

/// A disk may take minutes to answer. The ranks wait for it in short calls,
/// in which the watchdog of training sees no rank that has stopped.
void RunCheckpoints::await_writer() {
  const Stopwatch watch;
  const double most = kDiskPatience * double(run_.config.checks.stall_seconds);
  for (bool busy = true; busy;) {
    job_.on_rank_0([&] {
      busy = !writer_->wait_for(std::chrono::milliseconds(500));
      if (busy && most > 0 && watch.seconds() > most) leave_disk(watch.seconds());
    });
    busy = all_gather(job_.world(), busy).front();
  }
}

/// Ends the job at once: an orderly end would wait for the thread that writes.
void RunCheckpoints::leave_disk(double seconds) {
  print_error(fmt::format(
      "the last checkpoint is still being written after {} s: look at the disk of {}, and go on "
      "with --resume auto from the checkpoint before it, if there is one",
      std::lround(seconds), run_.config.output.run_dir));
  job_.session().abort(ExitCode::run_failed);
}

void RunCheckpoints::download(std::span<float> from, std::vector<float>& to) {
  to.resize(from.size());
  replica_.backend().download(to, from);
}

Manifest RunCheckpoints::manifest_at(const TrainPosition& position) const {
  TrainConfig config = run_.config;
  config.sums.bucket_mb = run_.bucket_mb;                                // what was chosen stays
  if (config.batch.global > 0) config.batch.global = run_.global_batch;  // it may be halved
  return {.position = position,
          .steps_per_epoch = run_.steps_per_epoch,
          .world = run_.ranks.size(),
          .micro_batches = run_.config.batch.accumulate,
          .global_batch = run_.global_batch,
          .written_at = utc_now(),
          .versions = run_.versions,
          .config = options_json(config),
          .folder = run_.working_directory,
          .reduce_table = run_.reduce_table,
          .data = data_,
          .machines = machine_texts(run_.ranks),
          .files = {}};
}

}  // namespace rueda
