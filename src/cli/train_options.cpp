#include "train_options.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "option_helpers.hpp"
#include "rueda/core/error.hpp"
#include "rueda/model/registry.hpp"

namespace rueda {
namespace {

void add_model_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Model");
  std::string known;
  for (const std::string& name : model_names()) known += (known.empty() ? "" : ", ") + name;
  add_text(app, "--model", config.model, "NAME", "Network to train: " + known);
  add_number(app, "--image-size", config.image_size, "PIXELS", "Side that images are resized to");
  add_text(app, "--init-weights", config.init_weights, "FILE",
           "Begins with the weights of this .safetensors file instead of drawn ones");
}

void add_data_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Data");
  add_text(app, "--data", config.data, "PATH",
           "CIFAR-10 as a directory or a .tar.gz, binary or Python version, or the word synthetic");
  add_number(app, "--data-limit", config.data_limit, "N", "Training images used, 0 for all");
  add_choice(app, "--augment", config.augment, {Augment::none, Augment::standard},
             "Random crop (4 pixels of padding) and mirror image");
  add_choice(app, "--normalize", config.normalize, {Normalize::scale, Normalize::cifar10},
             "Pixels divided by 255 only, or also by CIFAR-10's mean and deviation");
  add_words(app, "--shuffle", {"on", "off"}, config.shuffle ? "on" : "off",
            "New order of the samples in every epoch",
            [&config](const std::string& word) { config.shuffle = word == "on"; });
  add_choice(app, "--shard", config.shard, {Shard::step, Shard::fixed},
             "A rank's samples: a part of every global batch, or a slice of the data set");
  add_choice(app, "--last-batch", config.last_batch, {LastBatch::keep, LastBatch::drop},
             "What becomes of the samples that do not fill a global batch");
  add_choice(app, "--input", config.input, {InputMode::resident, InputMode::stream},
             "Batches made by the device from images that it holds, or prepared by host threads "
             "while the step before computes; the same values either way");
  add_number(app, "--input-workers", config.input_workers, "N",
             "Host threads of a rank for --input stream, 0 for the one that trains. On the cpu "
             "backend they share the cores with --threads");
}

void add_optimizer_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Optimizer");
  add_number(app, "--epochs", config.epochs, "N", "Passes over the training images");
  add_number(app, "--lr", config.lr, "X", "Learning rate, before --scale-lr");
  add_number(app, "--momentum", config.momentum, "X", "Momentum of SGD");
  add_number(app, "--weight-decay", config.weight_decay, "X", "Weight decay");
  app.add_flag("--nesterov", config.nesterov, "Nesterov momentum");
  add_choice(app, "--scale-lr", config.scale_lr, {ScaleLr::none, ScaleLr::linear},
             "Multiplies --lr by global batch / --base-batch");
  add_number(app, "--base-batch", config.base_batch, "N", "Global batch that --lr is meant for");
  add_number(app, "--warmup-epochs", config.warmup_epochs, "X", "Epochs of linear warm-up");
  add_choice(app, "--lr-schedule", config.lr_schedule,
             {LrSchedule::constant, LrSchedule::step, LrSchedule::cosine},
             "Course of the learning rate after the warm-up");
  add_number(app, "--seed", config.seed, "N", "Seed of weights, order and augmentation");
}

void add_batch_options(CLI::App& app, TrainConfig& config) {
  auto* per_rank = add_number_or_word(
      app, "--batch-per-rank", config.batch_per_rank, "N|max", "max", kMostThatFits,
      "Samples of one rank and micro-batch, max: as many as fit into the memory of every rank, by "
      "eights; not with --global-batch");
  auto* global = add_number(app, "--global-batch", config.global_batch, "N",
                            "Samples of one step over all ranks and micro-batches, 0 for "
                            "--batch-per-rank of each; not with --batch-per-rank");
  per_rank->excludes(global);
  add_number(app, "--accumulate", config.accumulate, "K",
             "Micro-batches of a rank whose gradients are added up for one step");
  add_choice(app, "--on-oom", config.on_oom, {OnOom::fail, OnOom::halve},
             "A batch that does not fit into memory: refuse it, or halve it until it does");
}

void add_timed_options(CLI::App& app, TrainConfig& config) {
  add_number(app, "--compute-ms", config.compute_ms, "X",
             "Of --backend timed: milliseconds for forward and backward of a full micro-batch");
  add_text(app, "--compute-from", config.compute_from, "RUN.json",
           "The same, as a run of this model took, by the median of its full steps");
  add_number(app, "--compute-jitter", config.compute_jitter, "PERCENT",
             "By which each micro-batch takes longer or shorter, drawn from seed, rank and step");
}

void add_reduce_options(CLI::App& app, TrainConfig& config) {
  add_choice(app, "--all-reduce", config.all_reduce,
             {Algorithm::automatic, Algorithm::ring, Algorithm::doubling, Algorithm::hierarchical,
              Algorithm::shared, Algorithm::central, Algorithm::mpi, Algorithm::nccl},
             "Sum of the gradients: ring; auto takes one by --reduce-table or a rule; recursive "
             "doubling, inside and between hosts, shared memory of one host, all to rank 0 and "
             "back; MPI_Allreduce; ncclAllReduce");
  add_text(
      app, "--reduce-table", config.reduce_table, "FILE",
      "The all-reduce for each length, as rueda bench tune measured it; means --all-reduce auto; "
      "the same file gives the same bits");
  add_number(app, "--segment-kb", config.segment_kb, "KIB",
             "KiB in which a chunk of the ring travels, one piece being added while the next is on "
             "its way; changes no bit; 0 for what the table or the rule says");
  add_choice(app, "--wire", config.wire, {Wire::fp32, Wire::bf16},
             "Numbers that a ring sends: bf16 halves the bytes and rounds; sums stay fp32");
  app.add_flag("--wire-error-feedback", config.wire_error_feedback,
               "With --wire bf16: what rounding takes is added in the next step");
}

void add_parallel_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Parallel");
  add_batch_options(app, config);
  add_choice(
      app, "--backend", config.backend,
      {BackendChoice::automatic, BackendChoice::cpu, BackendChoice::cuda, BackendChoice::timed},
      "Device that trains; timed: none, each rank waits as long as computing would take, and "
      "communicates");
  add_timed_options(app, config);
  add_choice(app, "--precision", config.precision,
             {Precision::fp32, Precision::tf32, Precision::bf16},
             "Activations and packed weights; parameters, gradients and statistics stay fp32");
  add_number(app, "--threads", config.threads, "N", "Threads of a rank, 0 for cores / ranks");
  add_reduce_options(app, config);
  add_choice(app, "--overlap", config.overlap, {Overlap::automatic, Overlap::on, Overlap::off},
             "Gradients travel on a thread of their own while backward computes others; auto: on a "
             "GPU, and on CPUs where --threads leaves that thread a core. Changes no bit");
  add_number(app, "--bucket-mb", config.bucket_mb, "MB",
             "Gradients that are summed at once, at most; 0 for all");
  add_choice(app, "--reduce-order", config.reduce_order, {ReduceOrder::ring, ReduceOrder::fixed},
             "Order of additions: the ring's, or by rank (N ranks = N micro-batches, bit for bit)");
  add_choice(app, "--transport", config.transport,
             {TransportChoice::automatic, TransportChoice::device, TransportChoice::staged},
             "Gradients of a GPU: MPI takes them from the device, or through host memory; auto: "
             "from the device if MPI says that it can");
  app.add_flag("--allow-shared-gpu", config.allow_shared_gpu,
               "Lets several ranks compute on one GPU");
}

void add_engine_options(CLI::App& app, TrainConfig& config) {
  add_choice(
      app, "--recompute", config.recompute,
      {Recompute::none, Recompute::batch_norm, Recompute::block},
      "Activations that backward makes again instead of keeping them: outputs of batch norms, "
      "or all inside residual blocks; saves memory, costs time, changes no bit");
  app.add_flag("--deterministic", config.deterministic,
               "On a GPU: only engines that give the same bits every time");
  add_text(
      app, "--tuning-file", config.tuning_file, "FILE",
      "On a GPU: engines to use, as --tune-engines found them; for all else cuDNN's suggestion");
  app.add_flag("--tune-engines", config.tune,
               "Times engines for what the tuning file does not name yet, and writes it");
}

std::string fault_words() {
  std::string words;
  for (const auto kind : InjectedFault::kKinds) {
    words += std::string(words.empty() ? "" : ", ") + to_string(kind);
  }
  return words;
}

void add_check_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Checks");
  add_choice(app, "--check-replicas", config.check_replicas,
             {CheckReplicas::epoch, CheckReplicas::step, CheckReplicas::off},
             "When to compare the parameters of all ranks bit by bit");
  app.add_flag("--verify-messages", config.verify_messages,
               "Each message of gradients carries a check sum, which its receiver compares");
  app.add_option_function<std::string>(
         "--inject", [&config](const std::string& text) { config.fault = parse_fault(text); },
         "Puts in a fault on purpose, to see it found: KIND:RANK:STEP, ranks from 0, steps from 1, "
         "with one of " +
             fault_words())
      ->option_text("FAULT");
}

void add_checkpoint_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Checkpoints");
  app.add_option_function<std::string>(
         "--checkpoint-every",
         [&config](const std::string& text) { config.checkpoint_every = parse_every(text); },
         "Writes a checkpoint after so many epochs or steps, 1epoch or 50steps for example, and at "
         "the end; a run that is asked to stop (SIGTERM, SIGUSR1) writes one anyway")
      ->option_text("N(epoch|step)[s]");
  add_number(app, "--keep", config.keep, "N", "Checkpoints that are kept, the latest ones");
  add_text(app, "--resume", config.resume, "DIR|auto",
           "Goes on with the run in this directory, or from this checkpoint, with its options "
           "where none are given here; auto: with the one in --run-dir, if there is one");
}

void add_trace_options(CLI::App& app, TrainConfig& config) {
  add_text(app, "--trace", config.trace, "FILE",
           "Writes what every rank did when, for Perfetto or chrome://tracing");
  add_number(app, "--trace-steps", config.trace_steps, "N", "Steps in the trace, from the first");
  add_number(app, "--stall-seconds", config.stall_seconds, "S",
             "Ends the run, naming who waits for whom, once a rank has been inside one call of MPI "
             "for so long; 0 for never");
}

void add_output_options(CLI::App& app, TrainConfig& config) {
  app.option_defaults()->group("Output");
  add_number(app, "--eval-every", config.eval_every, "N",
             "Epochs between evaluations on the test images, 0 for never");
  add_number(
      app, "--target-accuracy", config.target_accuracy, "X",
      "Ends the run once the test accuracy reaches this, 0.8 being 80 % (the training accuracy "
      "with --eval-every 0)");
  add_text(app, "--run-dir", config.run_dir, "DIR",
           "Where run.json goes; by default a new directory below runs/");
  add_text(app, "--save-weights", config.save_weights, "FILE",
           "Writes the weights to this .safetensors file at the end of the run");
  app.add_flag("--overwrite", config.overwrite,
               "Replaces the run in an existing --run-dir, and an existing --save-weights");
  add_words(app, "--progress", {"auto", "bar", "lines", "off"}, config.progress,
            "Progress bar, a line an epoch, or neither; auto: a bar on a terminal",
            [&config](const std::string& word) { config.progress = word; });
}

InjectedFault::Kind kind_of(std::string_view word, const std::string& text) {
  for (const auto kind : InjectedFault::kKinds) {
    if (word == to_string(kind)) return kind;
  }
  throw InputError("--inject " + text + ": give KIND:RANK:STEP with one of " + fault_words());
}

template <typename Number>
Number number_of(std::string_view digits, const std::string& text) {
  Number value{};
  const auto [rest, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (error == std::errc{} && rest == digits.end()) return value;
  throw InputError("--inject " + text + ": '" + std::string(digits) +
                   "' is not a number, give for example nan:0:3");
}

}  // namespace

CheckpointEvery parse_every(const std::string& text) {
  const std::string_view view(text);
  const std::size_t digits = std::min(view.find_first_not_of("0123456789"), view.size());
  const std::string_view unit = view.substr(digits);
  const bool steps = unit == "step" || unit == "steps";
  const bool epochs = unit == "epoch" || unit == "epochs";
  CheckpointEvery every;
  every.unit = steps ? CheckpointEvery::Unit::steps : CheckpointEvery::Unit::epochs;
  const auto error = std::from_chars(text.data(), text.data() + digits, every.count).ec;
  if ((steps || epochs) && error == std::errc{} && every.count > 0) return every;
  throw InputError("--checkpoint-every '" + text +
                   "': give a number and its unit, 1epoch, 5epochs or 50steps for example");
}

InjectedFault parse_fault(const std::string& text) {
  const std::string_view view(text);
  const auto first = view.find(':');
  const auto second = first == view.npos ? view.npos : view.find(':', first + 1);
  InjectedFault fault;
  fault.kind = kind_of(second == view.npos ? "" : view.substr(0, first), text);
  fault.rank = number_of<int>(view.substr(first + 1, second - first - 1), text);
  fault.step = number_of<std::size_t>(view.substr(second + 1), text);
  return fault;
}

void add_train_options(CLI::App& app, TrainConfig& config) {
  add_model_options(app, config);
  add_data_options(app, config);
  add_optimizer_options(app, config);
  add_parallel_options(app, config);
  add_engine_options(app, config);
  add_check_options(app, config);
  add_output_options(app, config);
  add_checkpoint_options(app, config);
  add_trace_options(app, config);
}

}  // namespace rueda
