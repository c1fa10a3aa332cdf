#include "rueda/train/config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "rueda/core/error.hpp"
#include "rueda/model/registry.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostEpochs = 1'000'000;
constexpr int kLeastImageSize = 8;
constexpr int kMostImageSize = 1024;
constexpr double kMostBucketMb = 1e6;
constexpr std::size_t kMostStallSeconds = 1'000'000;
constexpr int kMostThreads = 1024;
constexpr std::size_t kMostInputWorkers = 1024;
constexpr std::size_t kMostSegmentKb = 4'000'000;
constexpr double kMostLearningRate = 1000;
constexpr std::size_t kMostKept = 1'000'000;
constexpr double kMostComputeMs = 1e6;

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError(message);
}

void require_range(const char* option, std::size_t value, std::size_t least, std::size_t most) {
  require(value >= least && value <= most,
          std::string(option) + " is " + std::to_string(value) + ": give a whole number from " +
              std::to_string(least) + " to " + std::to_string(most));
}

void check_model(const TrainConfig& config) {
  const auto names = model_names();
  if (std::find(names.begin(), names.end(), config.model) != names.end()) return;
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  throw InputError("--model '" + config.model + "' is not known: give one of " + known);
}

void check_sizes(const TrainConfig& config) {
  require(!config.data.empty(),
          "--data is empty: give a directory, a .tar.gz as downloaded, or the word synthetic");
  require_range("--epochs", config.epochs, 1, kMostEpochs);
  if (config.batch_per_rank != kMostThatFits) {
    require_range("--batch-per-rank", config.batch_per_rank, 1, kMostSamples);
  }
  require_range("--global-batch", config.global_batch, 0, kMostSamples);
  require_range("--accumulate", config.accumulate, 1, kMostSamples);
  require_range("--input-workers", config.input_workers, 0, kMostInputWorkers);
  require_range("--base-batch", config.base_batch, 1, kMostSamples);
  require(config.image_size >= kLeastImageSize && config.image_size <= kMostImageSize,
          "--image-size is " + std::to_string(config.image_size) +
              ": give a number of pixels from " + std::to_string(kLeastImageSize) + " to " +
              std::to_string(kMostImageSize));
  require(config.threads >= 0 && config.threads <= kMostThreads,
          "--threads is " + std::to_string(config.threads) + ": give a number from 1 to " +
              std::to_string(kMostThreads) + ", or 0 for cores / ranks on the node");
}

void check_optimizer(const TrainConfig& config) {
  require(config.lr > 0 && config.lr <= kMostLearningRate,
          "--lr must be above 0 and at most 1000: SGD with momentum usually begins near 0.1");
  require(config.momentum >= 0 && config.momentum < 1,
          "--momentum must be at least 0 and below 1: 0 turns it off, 0.9 is usual");
  require(config.weight_decay >= 0 && config.weight_decay <= 1,
          "--weight-decay must be from 0 to 1: 0 turns it off, 1e-4 is usual");
  require(!config.nesterov || config.momentum > 0,
          "--nesterov looks ahead along the momentum: give a --momentum above 0 with it");
  require(config.warmup_epochs >= 0 && config.warmup_epochs <= static_cast<double>(config.epochs),
          "--warmup-epochs must be from 0 to the number of --epochs");
}

bool has_segments(Algorithm a) {
  return a == Algorithm::automatic || a == Algorithm::ring || a == Algorithm::hierarchical;
}

void check_all_reduce(const TrainConfig& config) {
  const std::string algorithm = to_string(config.all_reduce);
  require_range("--segment-kb", config.segment_kb, 0, kMostSegmentKb);
  require(config.segment_kb == 0 || has_segments(config.all_reduce),
          "--segment-kb cuts the chunks of a ring, and --all-reduce " + algorithm +
              " has none: leave it at 0");
  require(config.wire == Wire::fp32 || has_segments(config.all_reduce),
          "--wire bf16 is for --all-reduce auto, ring or hierarchical, not for " + algorithm);
  require(
      config.wire == Wire::fp32 || config.reduce_order == ReduceOrder::ring,
      "--reduce-order fixed is there for equal bits, which --wire bf16 rounds away: give one of "
      "the two");
  require(!config.wire_error_feedback || config.wire == Wire::bf16,
          "--wire-error-feedback makes up for what --wire bf16 rounds away: give both");
  require(
      config.reduce_table.empty() || config.all_reduce == Algorithm::automatic,
      "--reduce-table is for --all-reduce auto, not for " + algorithm + ": give one of the two");
  require(config.all_reduce != Algorithm::nccl || config.backend != BackendChoice::cpu,
          "--all-reduce nccl sums on GPUs, and --backend cpu trains without: give --all-reduce "
          "ring");
  require(config.all_reduce != Algorithm::nccl || config.transport == TransportChoice::automatic,
          "--transport says how gradients reach MPI, which --all-reduce nccl does without: leave "
          "it at auto");
  require(config.all_reduce != Algorithm::shared || config.backend != BackendChoice::cuda,
          "--all-reduce shared adds in host memory, and --backend cuda keeps gradients on the GPU: "
          "give --all-reduce ring");
}

void check_parallel(const TrainConfig& config) {
  check_all_reduce(config);
  require(config.reduce_order == ReduceOrder::ring || is_own(config.all_reduce),
          "--reduce-order fixed is an order of rueda's own all-reduces: give --all-reduce ring");
  require(config.transport == TransportChoice::automatic || config.backend != BackendChoice::cpu,
          std::string("--transport ") + to_string(config.transport) +
              " is about GPU memory, and --backend cpu keeps gradients in host memory, which needs "
              "no staging: leave --transport at auto");
  require(config.bucket_mb >= 0 && config.bucket_mb <= kMostBucketMb,
          "--bucket-mb must be from 0 to 1000000: 0 sums all gradients at once, 25 is usual");
  require(config.stall_seconds <= kMostStallSeconds,
          "--stall-seconds must be at most 1000000; 0 turns the watchdog off");
  require(!config.tune || !config.tuning_file.empty(),
          "--tune-engines measures what goes into a tuning file: name it with --tuning-file FILE");
  require(config.fault.kind == InjectedFault::Kind::none ||
              (config.fault.rank >= 0 && config.fault.step >= 1),
          "--inject needs a rank from 0 and a step from 1, for example nan:0:3");
}

/// What only the timed backend has, and what it has not.
void check_timed(const TrainConfig& c) {
  const bool given = c.compute_ms != 0 || !c.compute_from.empty();
  if (c.backend != BackendChoice::timed) {
    require(!given && c.compute_jitter == 0,
            "--compute-ms, --compute-from and --compute-jitter say how long --backend timed waits: "
            "leave them out, or add --backend timed");
    return;
  }
  require(given && (c.compute_ms == 0 || c.compute_from.empty()),
          "--backend timed computes nothing and has to know how long that takes: give either "
          "--compute-ms X or --compute-from RUN.json");
  require(c.compute_ms >= 0 && c.compute_ms <= kMostComputeMs,
          "--compute-ms must be above 0 and at most 1000000: milliseconds of a micro-batch");
  require(c.compute_jitter >= 0 && c.compute_jitter < 100,
          "--compute-jitter must be from 0 to below 100: per cent of a micro-batch's time");
  require(c.input == InputMode::resident,
          "--backend timed looks at no image: leave --input at resident");
  require(
      c.batch_per_rank != kMostThatFits,
      "--backend timed keeps no activations, so that any batch would fit: give --batch-per-rank "
      "a number");
  require(!c.target_accuracy && c.save_weights.empty() && c.init_weights.empty() &&
              c.fault.kind == InjectedFault::Kind::none,
          "--backend timed trains nothing: leave out --target-accuracy, --init-weights, "
          "--save-weights and --inject");
}

void check_output(const TrainConfig& config) {
  static constexpr std::array<std::string_view, 4> words = {"auto", "bar", "lines", "off"};
  require(std::find(words.begin(), words.end(), config.progress) != words.end(),
          "--progress '" + config.progress + "' is not known: give auto, bar, lines or off");
  require_range("--keep", config.keep, 1, kMostKept);
  require(config.resume != "auto" || !config.run_dir.empty(),
          "--resume auto looks for checkpoints in the run directory: name it with --run-dir");
  require(config.resume.empty() || config.init_weights.empty(),
          "--resume goes on with the weights of a checkpoint: leave out --init-weights");
  if (!config.target_accuracy) return;
  require(*config.target_accuracy > 0 && *config.target_accuracy <= 1,
          "--target-accuracy is a share of the images: give a number above 0 and at most 1");
}

}  // namespace

void validate(const TrainConfig& config) {
  check_model(config);
  check_sizes(config);
  check_optimizer(config);
  check_parallel(config);
  check_timed(config);
  check_output(config);
}

std::string to_string(const CheckpointEvery& every) {
  const char* unit = every.unit == CheckpointEvery::Unit::steps ? "step" : "epoch";
  return std::to_string(every.count) + unit + (every.count == 1 ? "" : "s");
}

const char* to_string(InjectedFault::Kind kind) {
  switch (kind) {
    case InjectedFault::Kind::flip_bit:
      return "flip-bit";
    case InjectedFault::Kind::nan:
      return "nan";
    case InjectedFault::Kind::kill:
      return "kill";
    case InjectedFault::Kind::stop:
      return "stop";
    case InjectedFault::Kind::hang:
      return "hang";
    case InjectedFault::Kind::corrupt_message:
      return "corrupt-message";
    default:
      return "none";
  }
}

const char* to_string(ScaleLr v) { return v == ScaleLr::linear ? "linear" : "none"; }

const char* to_string(LrSchedule v) {
  switch (v) {
    case LrSchedule::step:
      return "step";
    case LrSchedule::cosine:
      return "cosine";
    default:
      return "constant";
  }
}

const char* to_string(Augment v) { return v == Augment::standard ? "standard" : "none"; }

const char* to_string(Normalize v) { return v == Normalize::scale ? "scale" : "cifar10"; }

const char* to_string(InputMode v) { return v == InputMode::stream ? "stream" : "resident"; }

const char* to_string(BackendChoice v) {
  switch (v) {
    case BackendChoice::cpu:
      return "cpu";
    case BackendChoice::cuda:
      return "cuda";
    case BackendChoice::timed:
      return "timed";
    default:
      return "auto";
  }
}

std::size_t bucket_bytes(const TrainConfig& config) {
  if (config.bucket_mb == 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(config.bucket_mb * 1e6));
}

const char* to_string(Overlap v) {
  if (v == Overlap::automatic) return "auto";
  return v == Overlap::on ? "on" : "off";
}

const char* to_string(ReduceOrder v) { return v == ReduceOrder::fixed ? "fixed" : "ring"; }

const char* to_string(TransportChoice v) {
  switch (v) {
    case TransportChoice::device:
      return "device";
    case TransportChoice::staged:
      return "staged";
    default:
      return "auto";
  }
}

const char* to_string(CheckReplicas v) {
  switch (v) {
    case CheckReplicas::step:
      return "step";
    case CheckReplicas::off:
      return "off";
    default:
      return "epoch";
  }
}

const char* to_string(OnOom v) { return v == OnOom::halve ? "halve" : "fail"; }

const char* to_string(Shard v) { return v == Shard::fixed ? "fixed" : "step"; }

const char* to_string(LastBatch v) { return v == LastBatch::drop ? "drop" : "keep"; }

}  // namespace rueda
