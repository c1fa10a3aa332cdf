#include "rueda/train/config.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/registry.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

void check_training(const TrainConfig& c) {
  const auto names = model_names();
  const std::string hint = did_you_mean(c.model.name, names);
  require(std::ranges::count(names, c.model.name) > 0,
          "--model '" + printable(c.model.name) + "' is not known" + hint +
              (hint.empty() ? ": give" : " Give") + " one of " + joined(names, ", "));
  const std::string ending = std::filesystem::path(c.output.save_weights).extension().string();
  require(ending.empty() || ending == ".safetensors",
          "--save-weights " + c.output.save_weights +
              ": weights are written as safetensors, which PyTorch and Keras read "
              "(docs/checkpoints.md): give a name that ends in .safetensors");
  require(!c.data.path.empty(),
          "--data is empty: give a directory, a .tar.gz as downloaded, or the word synthetic");
  require(!c.optimizer.nesterov || c.optimizer.momentum > 0,
          "--nesterov looks ahead along the momentum: give a --momentum above 0 with it");
  require(c.optimizer.warmup_epochs <= double(c.training.epochs),
          "--warmup-epochs must be from 0 to the number of --epochs");
}

bool has_segments(Algorithm a) {
  return a == Algorithm::automatic || a == Algorithm::ring || is_hierarchical(a);
}

void check_all_reduce(const TrainConfig& c) {
  const std::string algorithm = to_string(c.sums.algorithm);
  require(c.sums.segment_kb == 0 || has_segments(c.sums.algorithm),
          "--segment-kb cuts the chunks of a ring, and --all-reduce " + algorithm +
              " has none: leave it at 0");
  require(c.sums.wire == Wire::fp32 || c.sums.algorithm == Algorithm::automatic ||
              may_narrow(c.sums.algorithm),
          "--wire bf16 is for --all-reduce auto, ring or hierarchical, not for " + algorithm);
  require(
      c.sums.wire == Wire::fp32 || c.sums.order == ReduceOrder::ring,
      "--reduce-order fixed is there for equal bits, which --wire bf16 rounds away: give one of "
      "the two");
  require(c.sums.algorithm != Algorithm::nccl || c.device.backend != BackendChoice::cpu,
          "--all-reduce nccl sums on GPUs, and --backend cpu trains without: give --all-reduce "
          "ring");
  const bool by_mpi = c.sums.algorithm != Algorithm::nccl && c.sums.algorithm != Algorithm::shared;
  require(by_mpi || c.sums.transport == TransportChoice::automatic,
          "--transport says how gradients reach MPI, which --all-reduce " + algorithm +
              " does without: leave it at auto");
}

void check_parallel(const TrainConfig& c) {
  check_all_reduce(c);
  require(c.sums.order == ReduceOrder::ring || is_own(c.sums.algorithm),
          "--reduce-order fixed is an order of rueda's own all-reduces: give --all-reduce ring");
  require(c.sums.transport == TransportChoice::automatic || c.device.backend != BackendChoice::cpu,
          std::string("--transport ") + to_string(c.sums.transport) +
              " is about GPU memory, and --backend cpu keeps gradients in host memory, which needs "
              "no staging: leave --transport at auto");
  require(!c.device.tune_engines || !c.device.tuning_file.empty(),
          "--tune-engines measures what goes into a tuning file: name it with --tuning-file FILE");
  require(c.checks.audit_by == AuditBy::other || c.checks.audit_every > 0,
          "--audit-by self says which rank an audit computes on: add --audit-every N");
  require(
      c.checks.fault.kind == InjectedFault::Kind::none ||
          (c.checks.fault.rank >= 0 && c.checks.fault.step >= 1),
      std::string(kFaultVariable) + " needs a rank from 0 and a step from 1, for example nan:0:3");
}

void check_balance(const TrainConfig& c) {
  if (c.batch.balance.equal()) return;
  require(c.data.shard == Shard::step,
          "--shard fixed gives each rank images of its own for the whole run, which unequal parts "
          "would use up at different times: leave --shard at step, or --balance at equal");
  require(c.sums.order == ReduceOrder::ring,
          "--reduce-order fixed promises that N ranks give the bits of N equal micro-batches, "
          "which --balance " +
              to_string(c.batch.balance) + " makes unequal: give one of the two");
}

/// What only the timed backend has, and what it has not.
void check_timed(const TrainConfig& c) {
  if (c.device.backend != BackendChoice::timed) {
    require(c.compute == ComputeConfig(),
            "--compute says how long --backend timed waits: leave it out, or add --backend timed");
    return;
  }
  require(c.compute.ms.has_value() != !c.compute.from.empty(),
          "--backend timed computes nothing and has to know how long that takes: give either "
          "--compute MILLISECONDS or --compute from=RUN.json");
  require(c.data.input == InputMode::resident,
          "--backend timed looks at no image: leave --input at resident");
  require(
      c.batch.per_rank != kMostThatFits,
      "--backend timed keeps no activations, so that any batch would fit: give --batch-per-rank "
      "a number");
  require(c.checks.audit_every == 0,
          "--backend timed computes nothing to audit: leave out --audit-every");
  require(
      !c.training.target_accuracy && !names_weights(c.output.save_weights) &&
          c.model.init_weights.empty() && c.checks.fault.kind == InjectedFault::Kind::none &&
          !c.output.profile_layers,
      std::string("--backend timed trains nothing: leave out --target-accuracy, --init-weights, "
                  "--save-weights, --profile-layers and ") +
          kFaultVariable);
}

void check_resume(const TrainConfig& c) {
  require(c.checkpoints.resume != "auto" || !c.output.run_dir.empty(),
          "--resume auto looks for checkpoints in the run directory: name it with --run-dir");
  require(c.checkpoints.resume.empty() || c.model.init_weights.empty(),
          "--resume goes on with the weights of a checkpoint: leave out --init-weights");
}

}  // namespace

std::string final_weights(const TrainConfig& config) {
  if (config.output.save_weights == kNoWeights || config.device.backend == BackendChoice::timed)
    return "";
  if (names_weights(config.output.save_weights)) return config.output.save_weights;
  return (std::filesystem::path(config.output.run_dir) / kFinalWeightsName).string();
}

std::vector<std::string> idle_options(const TrainConfig& c) {
  struct Need {
    const char* option;
    bool met;
    const char* by;
  };
  const std::array needs = {
      Need{"trace-steps", !c.output.trace.empty(), "without --trace"},
      Need{"keep", c.checkpoints.every.count > 0,
           "without --checkpoint-every but for the checkpoint "
           "of a run that is asked to stop"},
      Need{"noise-scale", c.device.backend != BackendChoice::timed,
           "with --backend timed, which has no gradients"},
      Need{"input-workers", c.data.input == InputMode::stream, "without --input stream"},
      Need{"lars-trust", c.optimizer.optimizer == OptimizerChoice::lars, "with --optimizer sgd"},
      Need{"lars-epsilon", c.optimizer.optimizer == OptimizerChoice::lars, "with --optimizer sgd"},
      Need{"base-batch", c.optimizer.scale_lr == ScaleLr::linear, "with --scale-lr none"}};
  std::vector<std::string> lines;
  for (const Need& need : needs)
    if (c.given.contains(need.option) && !need.met)
      lines.push_back(std::string("--") + need.option + " has no effect " + need.by);
  return lines;
}

void validate_given(const TrainConfig& config) {
  if (config.checkpoints.resume.empty()) return validate(config);
  for (const TrainOption& option : train_options()) check_range(option, config);
  check_resume(config);
}

void validate(const TrainConfig& config) {
  for (const TrainOption& option : train_options()) check_range(option, config);
  check_training(config);
  check_parallel(config);
  check_balance(config);
  check_timed(config);
  check_resume(config);
}

std::size_t bucket_limit(double mb) {
  if (mb == 0) return 0;
  return std::max<std::size_t>(1, std::size_t(mb * 1e6));
}

std::string fault_kinds() {
  constexpr auto words = words_of(InjectedFault::Kind::none);
  return fmt::format("{}", fmt::join(words.begin() + 1, words.end(), ", "));
}

std::string to_string(const CheckpointEvery& every) {
  std::string unit = "epoch";
  if (every.unit == CheckpointEvery::Unit::steps) unit = "step";
  if (every.count != 1) unit += "s";
  return std::to_string(every.count) + unit;
}

std::string to_string(const Balance& balance) {
  if (balance.by_speed) return "speed";
  if (balance.parts.empty()) return "equal";
  return fmt::format("{}", fmt::join(balance.parts, ","));
}

std::string to_string(const ComputeConfig& compute) {
  std::vector<std::string> parts;
  if (compute.ms) parts.push_back(fmt::format("ms={}", *compute.ms));
  if (compute.jitter != 0) parts.push_back(fmt::format("jitter={}", compute.jitter));
  if (!compute.factors.empty())
    parts.push_back(fmt::format("factors={}", fmt::join(compute.factors, ":")));
  if (!compute.from.empty()) parts.push_back(kComputeFrom + compute.from);  // it may have commas
  return joined(parts, ",");
}

std::string to_string(const InjectedFault& fault) {
  if (fault.kind == InjectedFault::Kind::none) return {};
  return fmt::format("{}:{}:{}{}", to_string(fault.kind), fault.rank, fault.step,
                     fault.permanent ? "+" : "");
}

}  // namespace rueda
