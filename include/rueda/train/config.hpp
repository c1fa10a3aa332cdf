#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/data/shard.hpp"
#include "rueda/reduce/algorithm.hpp"

namespace rueda {

enum class LrSchedule { constant, step, cosine };
enum class OptimizerChoice { sgd, lars };
enum class ScaleLr { none, linear };
enum class Augment { none, standard };
enum class Normalize { scale, cifar10 };
/// Batches are made by the device from images that it holds, or by host threads.
enum class InputMode { resident, stream };
/// Timed: computes nothing, and waits as long as computing would take.
enum class BackendChoice { automatic, cpu, cuda, timed };
/// How gradients reach MPI: as MPI can, by device memory, or through host memory.
enum class TransportChoice { automatic, device, staged };
enum class ReduceOrder { ring, fixed };
/// Whether gradients travel while the backward pass still computes others.
enum class Overlap { automatic, on, off };
enum class CheckReplicas { epoch, step, off };
/// Who computes a micro-batch once more in an audit.
enum class AuditBy { other, self };
/// What happens to a run whose batch does not fit into memory.
enum class OnOom { fail, halve };
enum class ProgressChoice { automatic, bar, lines, off };

/// As BatchConfig::per_rank: the most that fits into memory.
inline constexpr std::size_t kMostThatFits = SIZE_MAX;
/// As SumsConfig::bucket_mb: what hides most of the all-reduce, by a measurement at the start.
inline constexpr double kAutoBucketMb = std::numeric_limits<double>::max();
/// As often as costs nearly nothing (noise_interval), in place of a number of steps.
inline constexpr std::size_t kAutoNoiseScale = SIZE_MAX;

/// `50steps` or `2epochs`; none at 0.
struct CheckpointEvery {
  enum class Unit { steps, epochs };
  std::size_t count = 0;
  Unit unit = Unit::epochs;

  /// Whether to write one after `done` units.
  bool due(Unit of, std::size_t done) const noexcept {
    return unit == of && count > 0 && done % count == 0;
  }
};

/// A fault that a test injects, to see that it is found or survived: `KIND:RANK:STEP`,
/// with a `+` where it is permanent.
struct InjectedFault {
  enum class Kind {
    none,
    flip_bit,         ///< of a parameter
    nan,              ///< as a parameter
    kill,             ///< the rank by SIGKILL
    stop,             ///< asked for on the rank, as by SIGTERM
    hang,             ///< the rank by SIGSTOP
    corrupt_message,  ///< one bit of the first message of gradients that the rank receives
    flip_activation,  ///< one bit of what a micro-batch keeps for backward
    flip_weight,      ///< one bit of the weights that a micro-batch reads
    flip_gradient,    ///< one bit of a micro-batch's gradients
  };

  Kind kind = Kind::none;
  int rank = 0;
  std::size_t step = 0;    ///< global step, from 1
  bool permanent = false;  ///< of a flip: in each micro-batch that the rank computes from then on
};

/// How the ranks share each global batch: `equal`, `speed`, or `3,1`.
struct Balance {
  bool by_speed = false;
  std::vector<double> parts = {};  ///< of each rank, in proportion; empty: not given

  bool equal() const noexcept { return !by_speed && parts.empty(); }
};

/// The largest batch that is accepted, far beyond use.
inline constexpr std::size_t kMostSamples = 1'000'000;

// The parts of the configuration, as the help groups them.

struct ModelConfig {
  std::string name = "resnet20";
  int image_size = 32;
  std::string init_weights = {};  ///< a weights file to begin with; empty: drawn from the seed
};

struct DataConfig {
  std::string path = "synthetic";
  std::size_t limit = 0;  ///< training images used; 0: all
  Augment augment = Augment::none;
  Normalize normalize = Normalize::cifar10;
  bool shuffle = true;
  Shard shard = Shard::step;
  LastBatch last_batch = LastBatch::keep;
  InputMode input = InputMode::resident;
  std::size_t input_workers = 2;  ///< of a rank, with InputMode::stream; 0: the training thread
};

struct TrainingConfig {
  std::size_t epochs = 3;
  std::uint64_t seed = 1;
  double label_smoothing = 0;  ///< of training; evaluations have none
  std::size_t eval_every = 1;  ///< epochs; 0: never
  std::optional<double> target_accuracy;
};

/// SGD, or LARS, and the course of its learning rate.
struct OptimizerConfig {
  OptimizerChoice optimizer = OptimizerChoice::sgd;
  double lars_trust = 0.001;
  double lars_epsilon = 0;
  double lr = 0.02;
  double momentum = 0.9;
  double weight_decay = 1e-4;
  bool nesterov = false;
  ScaleLr scale_lr = ScaleLr::linear;
  std::size_t base_batch = 128;
  double warmup_epochs = 0;
  LrSchedule lr_schedule = LrSchedule::cosine;
};

struct BatchConfig {
  std::size_t per_rank = 64;  ///< samples of one rank and micro-batch, or kMostThatFits
  std::size_t global = 0;     ///< 0: per_rank * ranks * accumulate
  std::size_t accumulate = 1;
  Balance balance;
  OnOom on_oom = OnOom::fail;
};

struct DeviceConfig {
  BackendChoice backend = BackendChoice::automatic;
  Precision precision = Precision::fp32;
  Recompute recompute = Recompute::none;
  int threads = 0;                ///< 0: cores available / ranks on this node
  bool allow_shared_gpu = false;  ///< several ranks on one GPU
  bool deterministic = false;     ///< on a GPU: only engines that give the same bits every time
  std::string tuning_file;        ///< of engines for a GPU; empty: cuDNN's first suggestions
  bool tune_engines = false;      ///< measures engines first and writes the tuning file
  std::string plan_cache;         ///< folder of engines that cuDNN compiled; empty: none
};

/// How long the timed backend computes.
struct ComputeConfig {
  std::optional<double> ms = {};     ///< forward and backward of a full micro-batch
  std::string from = {};             ///< a run.json whose times are taken; empty: not given
  std::vector<double> factors = {};  ///< of each rank, by which it takes longer
  double jitter = 0;                 ///< per cent by which a micro-batch takes longer or shorter

  bool operator==(const ComputeConfig&) const = default;
};

/// How the gradients of all ranks are summed.
struct SumsConfig {
  Algorithm algorithm = Algorithm::ring;
  ReduceOrder order = ReduceOrder::ring;
  Overlap overlap = Overlap::automatic;
  /// MB (10^6 bytes) of gradients that are summed at once; 0: all; or kAutoBucketMb.
  double bucket_mb = 25;
  std::size_t segment_kb = 0;  ///< KiB in which a chunk travels; 0: as tuned
  Wire wire = Wire::fp32;
  TransportChoice transport = TransportChoice::automatic;
};

struct ChecksConfig {
  CheckReplicas replicas = CheckReplicas::epoch;
  bool verify_messages = false;  ///< of gradients, by a check sum each
  std::size_t audit_every = 0;   ///< steps; 0: never
  AuditBy audit_by = AuditBy::other;
  /// Steps between those of which norms are measured; 0: never; or kAutoNoiseScale.
  std::size_t noise_scale = kAutoNoiseScale;
  std::size_t stall_seconds = 120;  ///< in one call of MPI, after which a run ends; 0: never
  InjectedFault fault;              ///< of a test, by RUEDA_INJECT
};

struct CheckpointsConfig {
  CheckpointEvery every;
  std::size_t keep = 2;
  std::string resume;  ///< a run directory, a checkpoint, or "auto"; empty: begins anew
};

struct OutputConfig {
  std::string run_dir;  ///< empty: a new one below runs/
  bool overwrite = false;
  std::string save_weights;      ///< where the weights go at the end; see final_weights
  std::string trace;             ///< where the trace goes; empty: nowhere
  std::size_t trace_steps = 50;  ///< that it shows, from the first on
  bool profile_layers = false;   ///< takes the time of each layer in some steps
  ProgressChoice progress = ProgressChoice::automatic;
  LogLevel log_level = LogLevel::info;
  std::string log_dir;  ///< for a log file of each rank; empty: none
};

/// The options of `rueda train`, with its defaults. The option table maps the names of the command
/// line to these members.
struct TrainConfig {
  ModelConfig model;
  DataConfig data;
  TrainingConfig training;
  OptimizerConfig optimizer;
  BatchConfig batch;
  DeviceConfig device;
  ComputeConfig compute;
  SumsConfig sums;
  ChecksConfig checks;
  CheckpointsConfig checkpoints;
  OutputConfig output;

  /// Names of the options that the command line or the recipe set; all others
  /// have their defaults or, in a resumed run, its values.
  std::set<std::string, std::less<>> given;
};

/// The weights of a run that has ended, in its directory.
inline constexpr const char* kFinalWeightsName = "weights.safetensors";
/// In place of a path of --save-weights: keep none.
inline constexpr const char* kNoWeights = "none";
/// Whether a value of --save-weights is a path.
inline bool names_weights(const std::string& save_weights) {
  return !save_weights.empty() && save_weights != kNoWeights;
}

/// Where the weights go at the end: to --save-weights, without it into the run
/// directory; empty: nowhere, by `none` or because nothing is trained.
std::string final_weights(const TrainConfig& config);

/// The limit in bytes of a bucket of `mb` MB; 0 for none.
std::size_t bucket_limit(double mb);

/// A line for each option that was given and has no effect beside the others.
std::vector<std::string> idle_options(const TrainConfig& config);

/// Checks everything that needs no data and no device; throws InputError naming the option.
void validate(const TrainConfig& config);

/// The same of what the user gave. With --resume that may only be a part, which
/// the checkpoint completes: then each option is checked by itself.
void validate_given(const TrainConfig& config);

/// The words of an enum's values on the command line, in their order.
constexpr auto words_of(InjectedFault::Kind) {
  return std::to_array<const char*>({"none", "flip-bit", "nan", "kill", "stop", "hang",
                                     "corrupt-message", "flip-activation", "flip-weight",
                                     "flip-gradient"});
}
constexpr auto words_of(OptimizerChoice) { return std::array{"sgd", "lars"}; }
constexpr auto words_of(ScaleLr) { return std::array{"none", "linear"}; }
constexpr auto words_of(LrSchedule) { return std::array{"constant", "step", "cosine"}; }
constexpr auto words_of(Augment) { return std::array{"none", "standard"}; }
constexpr auto words_of(Normalize) { return std::array{"scale", "cifar10"}; }
constexpr auto words_of(InputMode) { return std::array{"resident", "stream"}; }
constexpr auto words_of(BackendChoice) { return std::array{"auto", "cpu", "cuda", "timed"}; }
constexpr auto words_of(Overlap) { return std::array{"auto", "on", "off"}; }
constexpr auto words_of(ReduceOrder) { return std::array{"ring", "fixed"}; }
constexpr auto words_of(TransportChoice) { return std::array{"auto", "device", "staged"}; }
constexpr auto words_of(CheckReplicas) { return std::array{"epoch", "step", "off"}; }
constexpr auto words_of(AuditBy) { return std::array{"other", "self"}; }
constexpr auto words_of(OnOom) { return std::array{"fail", "halve"}; }
constexpr auto words_of(ProgressChoice) { return std::array{"auto", "bar", "lines", "off"}; }
constexpr auto words_of(Shard) { return std::array{"step", "fixed"}; }
constexpr auto words_of(LastBatch) { return std::array{"keep", "drop"}; }

/// The kinds of faults, for messages.
std::string fault_kinds();

/// The words of the command line.
std::string to_string(const CheckpointEvery& every);
std::string to_string(const Balance& balance);
/// Empty where nothing is given.
std::string to_string(const ComputeConfig& compute);
/// Empty without a fault.
std::string to_string(const InjectedFault& fault);

}  // namespace rueda
