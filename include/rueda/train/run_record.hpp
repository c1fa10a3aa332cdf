#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/model/work.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/epoch_figures.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// Full steps take the whole global batch. The last step of an epoch is partial
/// where the data set leaves less; the two are never mixed in a mean.
enum class StepKind { full, partial, all };

bool is_kind(const StepRecord& step, std::size_t global_batch, StepKind kind) noexcept;

/// `records` are [rank][step]; every rank has the same steps.
EpochSums sum_up(const ByRank<StepRecord>& records, std::size_t global_batch);

/// One rank and its device.
struct RankInfo {
  int rank = 0;
  int local_rank = 0;
  std::string host;
  std::string backend;  ///< "cpu", "cuda" or "timed"
  std::string device;   ///< processor or GPU name
  std::string uuid;     ///< of the GPU, "GPU-8f2c..."; empty without one
  int threads = 1;
  double cores = 1;  ///< cores this rank may use, shared ones counted in part
  MemoryNeed memory;
  /// Start-up, itemised, in seconds and in order: mpi, data, graph, plan, allocation, broadcast ...
  std::vector<std::pair<std::string, double>> startup;
  std::string limits;  ///< of its control groups, with their files; empty: none
};

/// The energy of all ranks. A GPU that several of them share counts once.
Energy total_energy(const std::vector<Energy>& of_ranks, const std::vector<RankInfo>& ranks);

/// Running totals of an epoch or an evaluation.
struct Totals {
  double loss = 0;
  double correct = 0;
  double samples = 0;

  void operator+=(const Totals& other) {
    loss += other.loss;
    correct += other.correct;
    samples += other.samples;
  }
  Score score(double seconds) const {
    return {loss / samples, correct / samples, std::size_t(samples), seconds};
  }
};

/// Where a run stands at the end of a step. With parameters, running statistics
/// and velocities it is all that training needs to go on: every random choice
/// is hashed from seed, epoch and sample, so that epoch and step are the
/// counters of the generators, too.
struct TrainPosition {
  std::size_t epochs = 0;  ///< finished, evaluated and recorded
  std::size_t steps = 0;   ///< taken in the epoch after them; of all, it is still to be evaluated
  Totals so_far{};         ///< of these steps, over all ranks
  double seconds = 0;      ///< that they took
  double spent = 0;        ///< seconds of the finished epochs, their evaluations included
  Energy energy{0, 0};     ///< of these steps, and of pauses between them
  /// Images of each rank in a full step from here on. Empty: equal parts, which follow
  /// from the options.
  std::vector<std::size_t> shares = {};
};

/// A checkpoint that is on the disk and was read back. The two times are NaN for
/// the one that an earlier process wrote last: it cannot hold them itself.
struct CheckpointRecord {
  std::string path;
  std::size_t epochs = 0;  ///< finished epochs in it
  std::size_t steps = 0;   ///< and steps of the one after them
  std::size_t bytes = 0;
  double pause_seconds = 0;  ///< for which rank 0 did not train
  double write_seconds = 0;  ///< of writing and reading back, while training went on
};

/// A process that went on with a run.
struct Resumption {
  std::string at;          ///< ISO 8601, UTC
  std::string checkpoint;  ///< path
  std::size_t epochs = 0;  ///< that were finished
  std::size_t steps = 0;   ///< that were taken in the one after them
  std::size_t ranks = 0;
};

/// The findings of the audits of the run's steps.
struct AuditRecord {
  std::size_t steps = 0;              ///< that were audited
  std::vector<std::string> findings;  ///< a sentence each
};

/// The wait for a message that no wait of another rank explains.
struct FirstWait {
  std::size_t rank = 0;
  std::size_t peer = 0;  ///< that it received from; where it only sent, that it sent to
  double seconds = 0;    ///< that the message took
  bool mutual = false;   ///< the peer waited for the rank in the same way
};

/// A step that took much longer than others.
struct StepGap {
  double seconds = 0;
  std::size_t epoch = 0, step = 0;  ///< from 1
  std::optional<std::size_t> rank;  ///< that the others waited for; none: of no rank in particular
  std::size_t phase = 0;            ///< of that rank; without one the all-reduce
  double usual = 0;                 ///< seconds of a step
  bool compared = false;            ///< the ranks' messages, at the end of the epoch
  std::optional<FirstWait> waited = {};  ///< without `rank`; none: not determined
};

/// Whether the size of buckets decides how much of the all-reduce is hidden.
inline bool bucket_size_matters(const TrainConfig& config, bool overlaps) noexcept {
  return overlaps && config.batch.accumulate == 1;
}
/// Whether it is measured.
inline bool measures_bucket_size(const TrainConfig& config, bool overlaps) noexcept {
  return bucket_size_matters(config, overlaps) && config.sums.bucket_mb == kAutoBucketMb;
}

/// A run: the contents of run.json, whether this process trains it or reads the
/// file. All that training did belongs to the whole run, that is to this
/// process and to earlier ones up to the checkpoint that each was resumed from:
/// epochs, resumptions, checkpoints, audit, seconds. All that a process is belongs
/// to this one alone: command line, versions, ranks, start-up, profile, trace,
/// samples, gap.
struct RunRecord {
  TrainConfig config;  ///< with every default filled in
  std::string command_line;
  std::string started_at;         ///< ISO 8601, UTC
  std::string working_directory;  ///< from which relative paths of `config` lead
  Versions versions;
  std::vector<RankInfo> ranks;
  std::size_t train_images = 0;
  std::size_t test_images = 0;
  std::string data_source;
  std::size_t classes = 10;    ///< of the set; a run.json that does not say had ten
  std::size_t parameters = 0;  ///< trainable
  std::size_t statistics = 0;  ///< non-trainable
  double train_flops_per_image = 0;
  std::size_t global_batch = 0;
  std::size_t micro_batch = 0;            ///< samples of the largest micro-batch of a full step
  std::size_t micro_batch_asked = 0;      ///< what it was to be; 0: the most that fits
  std::vector<std::size_t> rank_batches;  ///< samples per rank in a full step, at last
  std::size_t steps_per_epoch = 0;
  double learning_rate = 0;        ///< after scaling
  std::string all_reduce;          ///< algorithm and order, e.g. "ring"
  std::string all_reduce_details;  ///< chunks and segments, or why `auto` took it; for people
  std::string reduce_table;     ///< of `auto`, as table_text has it; empty: another was asked for
  std::string auto_all_reduce;  ///< what `auto` would take here instead; empty: the same
  std::string transport;        ///< what MPI reads: "host" or "device" memory, or "staged"
  std::size_t gradient_bytes = 0;         ///< bytes summed per step: gradients and tail
  bool overlaps = false;                  ///< gradients travel while backward computes
  double bucket_mb = 0;                   ///< the most that a bucket holds; 0: everything
  std::vector<std::size_t> bucket_bytes;  ///< in the order in which they are summed
  /// The times of a run that computed nothing.
  std::optional<TimedCompute> timed;
  std::vector<Resumption> resumptions;  ///< in the order of time; the last is this process
  std::vector<CheckpointRecord> checkpoints;
  std::optional<StepGap> longest_gap;  ///< in the steps of this process
  AuditRecord audit;
  std::string outcome = "running";  ///< or "completed", "target reached", "stopped", "failed"
  std::string failure;              ///< the message, if it failed
  std::optional<double> seconds_to_target;  ///< training and evaluation time until the target
  /// The seconds of earlier processes; NaN where a checkpoint of an older version does not say.
  double earlier_seconds = 0;
  double total_seconds = 0;  ///< with these; from program start, start-up included
  std::vector<EpochRecord> epochs;
  LayerProfile profile;              ///< of this rank, where one is made
  ByRank<TraceSpan> trace;           ///< [rank], where one is kept; empty for other ranks
  double clock_error = 0;            ///< seconds by which its times are wrong at most
  ByRank<DeviceSample> gpu_samples;  ///< [rank], in the order of time
  std::string kept_weights;          ///< the file with the final ones; empty: there is none
};

}  // namespace rueda
