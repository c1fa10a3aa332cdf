#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/registry.hpp"
#include "train/options.hpp"
#include "train/options/option_forms.hpp"
#include "train/options/option_kinds.hpp"

namespace rueda {
namespace {

using C = TrainConfig;
using enum Resume;
using enum Timing;

constexpr const char* kModel = "Model";
constexpr const char* kData = "Data";
constexpr const char* kTraining = "Training";
constexpr const char* kBatch = "Batch";
constexpr const char* kDevice = "Device";
constexpr const char* kSums = "Sums of gradients";
constexpr const char* kChecks = "Checks";
constexpr const char* kOutput = "Output";
constexpr const char* kCheckpoints = "Checkpoints";

constexpr OptionRange whole(std::size_t least, double most = 1e6) {
  return {.least = double(least), .most = most};
}

bool writes_tuning_file(const C& c) { return c.device.tune_engines; }

OptionUses also(OptionUses uses) { return uses; }

/// The order is that of run.json. An option that has a file written is its
/// process's own: a checkpoint may come from somebody else, and files that it
/// names are not written unasked.
const std::vector<TrainOption> kOptions = {
    {"model", kModel, model_name_form(), must_agree, series, "NAME",
     "Network: " + joined(model_names(), ", "),
     also({.first = true,
           .evaluates = true,
           .synonyms = {"arch", "architecture", "network", "net"}})},
    {"image-size", kModel, number<&ModelConfig::image_size>(whole(8, 1024)), must_agree, series,
     "PIXELS", "Side that images are resized to", also({.evaluates = true})},
    {"init-weights", kModel, Text{place<&ModelConfig::init_weights>}, own, none, "FILE",
     "Begins with the weights of this .safetensors file instead of random ones",
     also({.synonyms = {"pretrained", "weights", "checkpoint", "initial-checkpoint"}})},

    {"data", kData, Text{place<&DataConfig::path>, false}, free, none, "PATH",
     "CIFAR-10 as a directory or a .tar.gz, binary or Python version, or the word synthetic",
     also({.first = true,
           .evaluates = true,
           .path_must_exist = true,
           .synonyms = {"dataset", "dataset-dir", "data-dir", "data-path", "dataset-path"}})},
    {"data-limit", kData, number<&DataConfig::limit>(), free, series, "N",
     "Number of training images to use; 0: all"},
    {"augment", kData, words<&DataConfig::augment>(), must_agree, variant, "",
     "Changes to each training image; standard: random crop (4 pixels of padding) and mirror "
     "image",
     also({.first = true})},
    {"normalize", kData, words<&DataConfig::normalize>(), must_agree, none, "",
     "Scaling of the pixels; scale: division by 255; cifar10: also by the mean and standard "
     "deviation of CIFAR-10",
     also({.evaluates = true})},
    {"shuffle", kData, shuffle_words(), must_agree, none, "",
     "Whether the samples get a new order in each epoch"},
    {"shard", kData, words<&DataConfig::shard>(), must_agree, variant, "",
     "Samples of a rank: a part of each global batch, or a slice of the data set"},
    {"last-batch", kData, words<&DataConfig::last_batch>(), must_agree, variant, "",
     "Whether to keep or drop the samples that do not fill a global batch"},
    {"input", kData, words<&DataConfig::input>(), free, variant, "",
     "Preparation of the batches; resident: by the device, from images in its memory; stream: by "
     "host threads, during the previous step; the values are the same"},
    {"input-workers", kData, number<&DataConfig::input_workers>(whole(0, 1024)), free, variant, "N",
     "Host threads of a rank for --input stream; 0: the thread that trains prepares batches. On "
     "the cpu backend they share the cores with --threads",
     also({.synonyms = {"workers", "num-workers", "dataloader-num-workers"}})},

    {"epochs", kTraining, number<&TrainingConfig::epochs>(whole(1)), changes_bits, none, "N",
     "Passes over the training images",
     also({.first = true,
           .synonyms = {"num-epochs", "n-epochs", "nb-epochs", "max-epochs", "num-train-epochs"}})},
    {"optimizer", kTraining, words<&OptimizerConfig::optimizer>(), must_agree, variant, "",
     "Update of the parameters; sgd: with momentum; lars: with a learning rate for each tensor, in "
     "proportion to its norm over that of its gradient, for large batches",
     also({.synonyms = {"opt", "optim"}})},
    {"lars-trust", kTraining,
     number<&OptimizerConfig::lars_trust>(
         {.most = 1, .without_least = true, .hint = "0.001 is usual"}),
     must_agree, none, "X", "Trust coefficient of --optimizer lars",
     also({.synonyms = {"trust-coefficient", "eeta"}})},
    {"lars-epsilon", kTraining,
     number<&OptimizerConfig::lars_epsilon>({.most = 1, .hint = "0 is usual"}), must_agree, none,
     "X", "Number in the denominator of --optimizer lars"},
    {"lr", kTraining,
     number<&OptimizerConfig::lr>({.most = 1000,
                                   .without_least = true,
                                   .hint = "SGD with momentum usually begins near 0.1"}),
     must_agree, none, "X", "Learning rate, before --scale-lr",
     also({.first = true, .synonyms = {"learning-rate", "base-lr", "init-lr", "initial-lr"}})},
    {"momentum", kTraining,
     number<&OptimizerConfig::momentum>(
         {.most = 1, .without_most = true, .hint = "0 turns it off, 0.9 is usual"}),
     must_agree, none, "X", "Momentum of the optimizer"},
    {"weight-decay", kTraining,
     number<&OptimizerConfig::weight_decay>({.most = 1, .hint = "0 turns it off, 1e-4 is usual"}),
     must_agree, none, "X", "Weight decay of the optimizer", also({.synonyms = {"wd", "l2"}})},
    {"nesterov", kTraining, Flag{place<&OptimizerConfig::nesterov>}, must_agree, none, "",
     "Uses Nesterov momentum"},
    {"scale-lr", kTraining, words<&OptimizerConfig::scale_lr>(), must_agree, none, "",
     "Scaling of --lr; linear: multiplied by global batch / --base-batch"},
    {"base-batch", kTraining, number<&OptimizerConfig::base_batch>(whole(1)), must_agree, none, "N",
     "Global batch that --lr is meant for"},
    {"warmup-epochs", kTraining, number<&OptimizerConfig::warmup_epochs>(), must_agree, none, "X",
     "Epochs of linear warm-up", also({.first = true, .synonyms = {"warmup", "lr-warmup-epochs"}})},
    {"lr-schedule", kTraining, words<&OptimizerConfig::lr_schedule>(), must_agree, none, "",
     "Course of the learning rate after the warm-up",
     also({.synonyms = {"scheduler", "lr-scheduler", "lr-scheduler-type", "sched"}})},
    {"label-smoothing", kTraining,
     number<&TrainingConfig::label_smoothing>(
         {.most = 1, .without_most = true, .hint = "0 turns it off, 0.1 is usual"}),
     must_agree, none, "X",
     "Share of each label that the training loss spreads evenly over all classes; evaluations "
     "have none",
     also({.synonyms = {"smoothing", "label-smoothing-factor"}})},
    {"seed", kTraining, number<&TrainingConfig::seed>(), must_agree, none, "N",
     "Seed of weights, order and augmentation", also({.first = true})},

    {"batch-per-rank", kBatch,
     NumberOrWord<std::size_t>{place<&BatchConfig::per_rank>, whole(1), "max", kMostThatFits}, free,
     series, "N|max",
     "Images of a rank in a micro-batch; max: the largest multiple of eight that fits into the "
     "memory of every rank; not with --global-batch",
     also({.first = true,
           .evaluates = true,
           .synonyms = {"batch", "batchsize", "batch-size", "train-batch-size",
                        "per-device-train-batch-size", "per-gpu-batch-size", "micro-batch-size"}})},
    {"global-batch", kBatch, number<&BatchConfig::global>(whole(0)), free, series, "N",
     "Images of a step over all ranks and micro-batches; 0: --batch-per-rank for each; not with "
     "--batch-per-rank",
     also({.synonyms = {"global-batch-size", "total-batch-size", "effective-batch-size"}})},
    {"accumulate", kBatch, number<&BatchConfig::accumulate>(whole(1)), free, variant, "K",
     "Micro-batches of a rank whose gradients are added up for a step",
     also({.synonyms = {"gradient-accumulation-steps", "accumulate-grad-batches",
                        "grad-accum-steps"}})},
    {"balance", kBatch, balance_form(), changes_bits, variant, "equal|speed|N,N,...",
     "Parts of the ranks in each global batch; speed: by the measured speed of each rank, so that "
     "all finish together, measured at the start and after each epoch; 3,1: in these proportions, "
     "rank by rank"},
    {"on-oom", kBatch, words<&BatchConfig::on_oom>(), free, none, "",
     "What to do with a batch that does not fit into memory: stop, or halve it until it fits"},

    {"backend", kDevice, words<&DeviceConfig::backend>(), changes_bits, series, "",
     "Device that trains; timed: nothing is computed, each rank waits for the time of the "
     "computation and communicates",
     also({.first = true, .evaluates = true, .synonyms = {"device", "accelerator"}})},
    {"compute", kLastGroup, compute_form(), free, variant,
     "MS|ms=MS,jitter=PERCENT,factors=X:X,from=FILE",
     "For --backend timed: milliseconds for forward and backward of a full micro-batch; or their "
     "parts: jitter makes each micro-batch longer or shorter by up to this, drawn from seed, rank "
     "and step; factors=1:1.3 has rank 1 take 30 % longer; from, the last, takes the time from the "
     "run.json of a run of this model, the median of its full steps",
     also({.path_must_exist = true})},
    {"precision", kDevice, words<&DeviceConfig::precision>(), must_agree, variant, "",
     "Format of activations and packed weights; parameters, gradients and statistics stay fp32",
     also({.first = true,
           .evaluates = true,
           .synonyms = {"amp", "fp16", "bf16", "mixed-precision", "dtype", "use-fp16"}})},
    {"recompute", kDevice, words<&DeviceConfig::recompute>(), free, variant, "",
     "Activations that backward computes again; bn: outputs of batch norms; block: all inside "
     "residual blocks; saves memory, costs time, changes no bit"},
    {"deterministic", kDevice, Flag{place<&DeviceConfig::deterministic>}, changes_bits, variant, "",
     "On a GPU: uses only engines that give the same bits each time", also({.evaluates = true})},
    {"tuning-file", kLastGroup, Text{place<&DeviceConfig::tuning_file>, true, writes_tuning_file},
     changes_bits, variant, "FILE",
     "On a GPU: uses the engines in this file of --tune-engines; cuDNN chooses the others",
     also({.evaluates = true})},
    {"tune-engines", kLastGroup, Flag{place<&DeviceConfig::tune_engines>}, own, none, "",
     "On a GPU: times engines for work that the tuning file does not name yet, and writes the "
     "file"},
    {"plan-cache", kLastGroup, Text{place<&DeviceConfig::plan_cache>}, own, none, "DIR",
     "On a GPU: keeps the engines that cuDNN compiles at the start in this folder, for later runs",
     also({.evaluates = true})},
    {"threads", kDevice,
     number<&DeviceConfig::threads>({.most = 1024, .hint = "0 for cores / ranks on the node"}),
     changes_bits, variant, "N", "Threads of a rank; 0: cores / ranks",
     also({.first = true, .evaluates = true})},

    {"all-reduce", kSums, algorithm_words(), changes_bits, variant, "",
     "Algorithm that sums the gradients; auto: the fastest by length and measured costs; doubling, "
     "halving: recursive; hierarchical: inside, then between hosts; shared: in each other's "
     "memory, on one host; mpi: MPI_Allreduce; nccl: ncclAllReduce",
     also({.first = true})},
    {"segment-kb", kLastGroup, number<&SumsConfig::segment_kb>(whole(0, 4e6)), free, variant, "KIB",
     "Size of the pieces in which a ring sends a chunk: one is added while the next travels; "
     "changes no bit; 0: by a rule"},
    {"wire", kSums, words<&SumsConfig::wire>(), changes_bits, variant, "",
     "Format of the numbers that a ring sends; bf16: halves the bytes and rounds; sums stay fp32"},
    {"reduce-order", kSums, words<&SumsConfig::order>(), changes_bits, variant, "",
     "Order of additions; ring: that of the algorithm; fixed: along a binary tree (N ranks = N "
     "micro-batches, bit for bit)"},
    {"overlap", kSums, words<&SumsConfig::overlap>(), free, variant, "",
     "Sends gradients on another thread while backward computes more; auto: on a GPU, and on "
     "CPUs where --threads leaves that thread a core. Changes no bit"},
    {"bucket-mb", kSums,
     NumberOrWord<double>{place<&SumsConfig::bucket_mb>,
                          {.most = 1e6, .hint = "0 sums all gradients at once, 25 is usual"},
                          "auto",
                          kAutoBucketMb},
     changes_bits, variant, "MB|auto",
     "Maximum size of a bucket of gradients; 0: one bucket for all; auto: the size that, by a "
     "measurement at the start, hides most of the all-reduce",
     also({.first = true, .word_is_measured = true})},
    {"stall-seconds", kChecks,
     number<&ChecksConfig::stall_seconds>({.most = 1e6, .hint = "0 turns the watchdog off"}), free,
     none, "S",
     "Ends the run and names which rank waits for which, once a rank has been inside one MPI call "
     "or one part of a step for this time; 0: never"},
    {"transport", kSums, words<&SumsConfig::transport>(), free, variant, "",
     "Path of a GPU's gradients to MPI; device: from its memory; staged: through host memory; "
     "auto: from the device if MPI reports that it can"},
    {"allow-shared-gpu", kDevice, Flag{place<&DeviceConfig::allow_shared_gpu>}, free, variant, "",
     "Lets several ranks compute on one GPU", also({.evaluates = true})},

    {"check-replicas", kChecks, words<&ChecksConfig::replicas>(), free, variant, "",
     "When to compare the parameters of all ranks, bit by bit"},
    {"verify-messages", kChecks, Flag{place<&ChecksConfig::verify_messages>}, free, variant, "",
     "Adds a check sum to each message of gradients, which the receiver verifies"},
    {"audit-every", kChecks, audit_every_form(), free, variant, "N[steps]",
     "Steps between audits, in which each rank also computes a micro-batch of another rank and "
     "compares the gradients bit by bit; 0: never [0]"},
    {"audit-by", kChecks, words<&ChecksConfig::audit_by>(), free, variant, "",
     "Which rank computes a micro-batch again in an audit: another one, or the rank itself, which "
     "does not find an error that it repeats"},
    {"noise-scale", kChecks,
     NumberOrWord<std::size_t>{place<&ChecksConfig::noise_scale>, whole(0), "auto",
                               kAutoNoiseScale},
     free, none, "N|auto",
     "Measures the gradient noise scale, which says up to which batch more images teach more, in "
     "every Nth step; auto: each on a CPU, every 8th on a GPU; 0: never. Changes no bit"},
    {"eval-every", kTraining, number<&TrainingConfig::eval_every>(), free, none, "N",
     "Epochs between evaluations on the test images; 0: never"},
    {"target-accuracy", kTraining,
     number<&TrainingConfig::target_accuracy>(
         {.most = 1, .without_least = true, .hint = "it is a share of the images"}),
     free, none, "X",
     "Ends the run once the test accuracy reaches this, 0.8 being 80 % (the training accuracy "
     "with --eval-every 0)"},

    {"checkpoint-every", kCheckpoints, checkpoint_every_form(), free, none, "N(epoch|step)[s]",
     "Writes a checkpoint every N epochs or steps, for example 1epoch or 50steps, and at the end; "
     "a run that is asked to stop (SIGTERM, SIGUSR1, SIGHUP, SIGXCPU) always writes one",
     also({.first = true})},
    {"keep", kCheckpoints, number<&CheckpointsConfig::keep>(whole(1)), free, none, "N",
     "Number of checkpoints to keep; older ones are deleted"},
    {"resume", kCheckpoints, Text{place<&CheckpointsConfig::resume>}, own, none, "DIR|auto",
     "Continues the run in this directory, or from this checkpoint, with its options unless "
     "others are given here; auto: the run in --run-dir, if any",
     also({.first = true, .synonyms = {"resume-from", "resume-from-checkpoint", "ckpt-path"}})},

    {"run-dir", kOutput, Text{place<&OutputConfig::run_dir>, false}, own, none, "DIR",
     "Directory for the files of the run [a new one below runs/]",
     also({.first = true,
           .synonyms = {"output-dir", "out-dir", "save-dir", "checkpoint-dir",
                        "default-root-dir"}})},
    {"save-weights", kOutput, Text{place<&OutputConfig::save_weights>}, own, none, "FILE|none",
     "Writes the weights to this .safetensors file at the end of the run; none: writes no file "
     "[weights.safetensors in the run directory]"},
    {"overwrite", kOutput, Flag{place<&OutputConfig::overwrite>}, own, none, "",
     "Replaces the run in an existing --run-dir, and an existing --save-weights"},
    {"progress", kOutput, words<&OutputConfig::progress>(), own, none, "",
     "Display of the progress: a bar, a line per epoch, or nothing; auto: a bar on a terminal",
     also({.evaluates = true})},
    {"trace", kOutput, Text{place<&OutputConfig::trace>}, own, none, "FILE",
     "Writes a timeline of up to eight ranks to this file, for Perfetto or chrome://tracing"},
    {"trace-steps", kOutput, number<&OutputConfig::trace_steps>(), own, none, "N",
     "Number of steps in the trace, from the first"},
    {"profile-layers", kLastGroup, Flag{place<&OutputConfig::profile_layers>}, free, variant, "",
     "Times each layer in the last five steps of the first epoch; shows FLOP/s, GB/s and the share "
     "of the device's maximum. On a GPU these steps run without a recorded graph"},
    {"log-level", kOutput, words<&OutputConfig::log_level>(), free, none, "",
     "Logs messages of this importance and above, on the terminal and below --log-dir"},
    {"log-dir", kOutput, Text{place<&OutputConfig::log_dir>}, own, none, "DIR",
     "Also writes the log of each rank to a file there, rank-0.log and so on"},
};

}  // namespace

const std::vector<TrainOption>& train_options() { return kOptions; }

const TrainOption& train_option(std::string_view name) {
  const auto found = std::ranges::find(
      kOptions, name, [](const TrainOption& o) { return std::string_view(o.name); });
  if (found == kOptions.end()) throw std::out_of_range("no option " + std::string(name));
  return *found;
}

}  // namespace rueda
