#include <utility>

#include "rueda/model/registry.hpp"
#include "rueda/train/options.hpp"

namespace rueda {
namespace {

using C = TrainConfig;

constexpr const char* kModel = "Model";
constexpr const char* kData = "Data";
constexpr const char* kOptimizer = "Optimizer";
constexpr const char* kParallel = "Parallel";
constexpr const char* kChecks = "Checks";
constexpr const char* kOutput = "Output";
constexpr const char* kCheckpoints = "Checkpoints";

template <typename Member>
struct MemberType;
template <typename Type>
struct MemberType<Type TrainConfig::*> {
  using type = Type;
};

/// The words of an enum's values, from the first to `last`.
template <auto kMember, typename Enum = typename MemberType<decltype(kMember)>::type>
Words words(Enum last) {
  Words words{{},
              [](const C& c) { return static_cast<std::size_t>(c.*kMember); },
              [](C& c, std::size_t index) { c.*kMember = static_cast<Enum>(index); }};
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
    words.words.push_back(to_string(static_cast<Enum>(i)));
  }
  return words;
}

template <typename Number>
NumberIn<Number> number(Number C::*member, const OptionRange& range = {}) {
  return {member, range};
}

constexpr OptionRange whole(std::size_t least, double most = 1e6) {
  return {.least = static_cast<double>(least), .most = most};
}

Words shuffle_words() {
  return {{"on", "off"},
          [](const C& c) { return std::size_t{c.shuffle ? 0U : 1U}; },
          [](C& c, std::size_t index) { c.shuffle = index == 0; }};
}

constexpr Formed kFault = {[](const C& c) { return to_string(c.fault); },
                           [](C& c, const std::string& text) { c.fault = parse_fault(text); }};
constexpr Formed kEvery = {
    [](const C& c) { return c.checkpoint_every.count > 0 ? to_string(c.checkpoint_every) : ""; },
    [](C& c, const std::string& text) { c.checkpoint_every = parse_every(text); }};

using Table = std::vector<TrainOption>;

Table model_options() {
  return {
      {"model", kModel, Text{&C::model, false}, Resume::must_agree, Timing::series, "NAME",
       "Network to train: " + joined(model_names(), ", ")},
      {"image-size", kModel, number(&C::image_size, whole(8, 1024)), Resume::must_agree,
       Timing::series, "PIXELS", "Side that images are resized to"},
      {"init-weights", kModel, Text{&C::init_weights}, Resume::own, Timing::none, "FILE",
       "Begins with the weights of this .safetensors file instead of random ones"},
  };
}

Table data_options() {
  return {
      {"data", kData, Text{&C::data, false}, Resume::free, Timing::none, "PATH",
       "CIFAR-10 as a directory or a .tar.gz, binary or Python version, or the word synthetic"},
      {"data-limit", kData, number(&C::data_limit), Resume::free, Timing::series, "N",
       "Training images used, 0 for all"},
      {"augment", kData, words<&C::augment>(Augment::standard), Resume::must_agree, Timing::variant,
       "", "Random crop (4 pixels of padding) and mirror image"},
      {"normalize", kData, words<&C::normalize>(Normalize::cifar10), Resume::must_agree,
       Timing::none, "", "Divides pixels by 255, or also uses the mean and deviation of CIFAR-10"},
      {"shuffle", kData, shuffle_words(), Resume::must_agree, Timing::none, "",
       "New order of the samples in each epoch"},
      {"shard", kData, words<&C::shard>(Shard::fixed), Resume::must_agree, Timing::variant, "",
       "A rank's samples: a part of each global batch, or a slice of the data set"},
      {"last-batch", kData, words<&C::last_batch>(LastBatch::drop), Resume::must_agree,
       Timing::variant, "", "Keeps or drops the samples that do not fill a global batch"},
      {"input", kData, words<&C::input>(InputMode::stream), Resume::free, Timing::variant, "",
       "The device makes batches from images that it holds, or host threads prepare them during "
       "the previous step; the values are the same"},
      {"input-workers", kData, number(&C::input_workers, whole(0, 1024)), Resume::free,
       Timing::variant, "N",
       "Host threads of a rank for --input stream, 0 for the thread that trains. On the cpu "
       "backend they share the cores with --threads"},
  };
}

Table optimizer_options() {
  return {
      {"epochs", kOptimizer, number(&C::epochs, whole(1)), Resume::changes_bits, Timing::none, "N",
       "Passes over the training images"},
      {"lr", kOptimizer,
       number(&C::lr, {.most = 1000,
                       .without_least = true,
                       .hint = "SGD with momentum usually begins near 0.1"}),
       Resume::must_agree, Timing::none, "X", "Learning rate, before --scale-lr"},
      {"momentum", kOptimizer,
       number(&C::momentum,
              {.most = 1, .without_most = true, .hint = "0 turns it off, 0.9 is usual"}),
       Resume::must_agree, Timing::none, "X", "Momentum of SGD"},
      {"weight-decay", kOptimizer,
       number(&C::weight_decay, {.most = 1, .hint = "0 turns it off, 1e-4 is usual"}),
       Resume::must_agree, Timing::none, "X", "Weight decay"},
      {"nesterov", kOptimizer, Flag{&C::nesterov}, Resume::must_agree, Timing::none, "",
       "Nesterov momentum"},
      {"scale-lr", kOptimizer, words<&C::scale_lr>(ScaleLr::linear), Resume::must_agree,
       Timing::none, "", "Multiplies --lr by global batch / --base-batch"},
      {"base-batch", kOptimizer, number(&C::base_batch, whole(1)), Resume::must_agree, Timing::none,
       "N", "Global batch that --lr is meant for"},
      {"warmup-epochs", kOptimizer, number(&C::warmup_epochs), Resume::must_agree, Timing::none,
       "X", "Epochs of linear warm-up"},
      {"lr-schedule", kOptimizer, words<&C::lr_schedule>(LrSchedule::cosine), Resume::must_agree,
       Timing::none, "", "Course of the learning rate after the warm-up"},
      {"seed", kOptimizer, number(&C::seed), Resume::must_agree, Timing::none, "N",
       "Seed of weights, order and augmentation"},
  };
}

Table batch_options() {
  return {
      {"batch-per-rank", kParallel,
       NumberOrWord{&C::batch_per_rank, whole(1), "max", kMostThatFits}, Resume::free,
       Timing::series, "N|max",
       "Samples of one rank and micro-batch; max: as many, in eights, as fit into the memory of "
       "every rank; not with --global-batch"},
      {"global-batch", kParallel, number(&C::global_batch, whole(0)), Resume::free, Timing::series,
       "N",
       "Samples of one step over all ranks and micro-batches, 0 for --batch-per-rank of each; not "
       "with --batch-per-rank"},
      {"accumulate", kParallel, number(&C::accumulate, whole(1)), Resume::free, Timing::variant,
       "K", "Micro-batches of a rank whose gradients are added up for one step"},
      {"on-oom", kParallel, words<&C::on_oom>(OnOom::halve), Resume::free, Timing::none, "",
       "A batch that does not fit into memory: refuse it, or halve it until it fits"},
  };
}

Table device_options() {
  return {
      {"backend", kParallel, words<&C::backend>(BackendChoice::timed), Resume::changes_bits,
       Timing::series, "",
       "Device that trains; timed: computes nothing, each rank waits as long as computing would "
       "take, and communicates"},
      // A strong scaling study gives each batch its own time.
      {"compute-ms", kParallel,
       number(&C::compute_ms,
              {.most = 1e6, .without_least = true, .hint = "milliseconds of a micro-batch"}),
       Resume::free, Timing::series, "X",
       "For --backend timed: milliseconds for forward and backward of a full micro-batch"},
      {"compute-from", kParallel, Text{&C::compute_from}, Resume::free, Timing::variant, "RUN.json",
       "For --backend timed: takes that time from a run of this model, the median of its full "
       "steps"},
      {"compute-jitter", kParallel,
       number(&C::compute_jitter,
              {.most = 100, .without_most = true, .hint = "per cent of a micro-batch's time"}),
       Resume::free, Timing::variant, "PERCENT",
       "For --backend timed: makes each micro-batch longer or shorter by up to this, drawn from "
       "seed, rank and step"},
      {"precision", kParallel, words<&C::precision>(Precision::bf16), Resume::must_agree,
       Timing::variant, "",
       "Activations and packed weights; parameters, gradients and statistics stay fp32"},
      {"recompute", kParallel, words<&C::recompute>(Recompute::block), Resume::free,
       Timing::variant, "",
       "Activations that backward computes again: outputs of batch norms, or all inside residual "
       "blocks; saves memory, costs time, changes no bit"},
      {"deterministic", kParallel, Flag{&C::deterministic}, Resume::changes_bits, Timing::variant,
       "", "On a GPU: only engines that give the same bits each time"},
      {"tuning-file", kParallel, Text{&C::tuning_file}, Resume::changes_bits, Timing::variant,
       "FILE", "On a GPU: engines to use, as --tune-engines found them; cuDNN chooses the others"},
      {"tune-engines", kParallel, Flag{&C::tune}, Resume::free, Timing::none, "",
       "Times engines for work that the tuning file does not name yet, and writes the file"},
      {"threads", kParallel,
       number(&C::threads, {.most = 1024, .hint = "0 for cores / ranks on the node"}),
       Resume::changes_bits, Timing::variant, "N", "Threads of a rank, 0 for cores / ranks"},
  };
}

Table reduce_options() {
  return {
      {"all-reduce", kParallel, words<&C::all_reduce>(Algorithm::nccl), Resume::changes_bits,
       Timing::variant, "",
       "Sum of the gradients. auto: by --reduce-table or a rule; ring; doubling: recursive "
       "doubling; hierarchical: inside, then between hosts; shared: memory of one host; central: "
       "to rank 0 and back; mpi: MPI_Allreduce; nccl: ncclAllReduce"},
      {"segment-kb", kParallel, number(&C::segment_kb, whole(0, 4e6)), Resume::free,
       Timing::variant, "KIB",
       "KiB of the pieces in which a ring sends a chunk: one is added while the next travels; "
       "changes no bit; 0: by the table or the rule"},
      {"reduce-table", kParallel, Text{&C::reduce_table}, Resume::changes_bits, Timing::variant,
       "FILE",
       "For --all-reduce auto: the algorithm for each length, as rueda bench tune measured it; the "
       "same file gives the same bits"},
      {"wire", kParallel, words<&C::wire>(Wire::bf16), Resume::changes_bits, Timing::variant, "",
       "Numbers that a ring sends: bf16 halves the bytes and rounds; sums stay fp32"},
      {"wire-error-feedback", kParallel, Flag{&C::wire_error_feedback}, Resume::changes_bits,
       Timing::variant, "", "With --wire bf16: adds the rounding error in the next step"},
      {"reduce-order", kParallel, words<&C::reduce_order>(ReduceOrder::fixed), Resume::changes_bits,
       Timing::variant, "",
       "Order of additions: the ring's, or by rank (N ranks = N micro-batches, bit for bit)"},
      {"overlap", kParallel, words<&C::overlap>(Overlap::off), Resume::free, Timing::variant, "",
       "Sends gradients on another thread while backward computes more; auto: on a GPU, and on "
       "CPUs where --threads leaves that thread a core. Changes no bit"},
      {"bucket-mb", kParallel,
       number(&C::bucket_mb, {.most = 1e6, .hint = "0 sums all gradients at once, 25 is usual"}),
       Resume::changes_bits, Timing::variant, "MB",
       "Most gradients that are summed at once; 0 for all"},
      {"stall-seconds", kChecks,
       number(&C::stall_seconds, {.most = 1e6, .hint = "0 turns the watchdog off"}), Resume::free,
       Timing::none, "S",
       "Ends the run, naming who waits for whom, once a rank has been inside one call of MPI for "
       "so long; 0 for never"},
      {"transport", kParallel, words<&C::transport>(TransportChoice::staged), Resume::free,
       Timing::variant, "",
       "Path of a GPU's gradients: MPI takes them from the device, or through host memory; auto: "
       "from the device if MPI says that it can"},
      {"allow-shared-gpu", kParallel, Flag{&C::allow_shared_gpu}, Resume::free, Timing::variant, "",
       "Lets several ranks compute on one GPU"},
  };
}

Table check_options() {
  return {
      {"check-replicas", kChecks, words<&C::check_replicas>(CheckReplicas::off), Resume::free,
       Timing::variant, "", "When to compare the parameters of all ranks bit by bit"},
      {"verify-messages", kChecks, Flag{&C::verify_messages}, Resume::free, Timing::variant, "",
       "Each message of gradients carries a check sum, which its receiver compares"},
      {"inject", kChecks, kFault, Resume::own, Timing::none, "FAULT",
       "Injects a fault on purpose, to see that it is found: KIND:RANK:STEP, ranks from 0, steps "
       "from 1, with one of " +
           fault_kinds()},
      {"eval-every", kOutput, number(&C::eval_every), Resume::free, Timing::none, "N",
       "Epochs between evaluations on the test images, 0 for never"},
      {"target-accuracy", kOutput,
       number(&C::target_accuracy,
              {.most = 1, .without_least = true, .hint = "it is a share of the images"}),
       Resume::free, Timing::none, "X",
       "Ends the run once the test accuracy reaches this, 0.8 being 80 % (the training accuracy "
       "with --eval-every 0)"},
  };
}

Table checkpoint_options() {
  return {
      {"checkpoint-every", kCheckpoints, kEvery, Resume::free, Timing::none, "N(epoch|step)[s]",
       "Writes a checkpoint after so many epochs or steps, for example 1epoch or 50steps, and at "
       "the end; a run that is asked to stop (SIGTERM, SIGUSR1) always writes one"},
      {"keep", kCheckpoints, number(&C::keep, whole(1)), Resume::free, Timing::none, "N",
       "Number of checkpoints to keep, the latest ones"},
      {"resume", kCheckpoints, Text{&C::resume}, Resume::own, Timing::none, "DIR|auto",
       "Continues the run in this directory, or from this checkpoint, with its options where none "
       "are given here; auto: the run in --run-dir, if there is one"},
  };
}

/// A checkpoint may come from somebody else: files that it names are not written unasked.
Table output_options() {
  return {
      {"run-dir", kOutput, Text{&C::run_dir, false}, Resume::own, Timing::none, "DIR",
       "Directory for run.json; by default a new one below runs/"},
      {"save-weights", kOutput, Text{&C::save_weights}, Resume::own, Timing::none, "FILE",
       "Writes the weights to this .safetensors file at the end of the run"},
      {"overwrite", kOutput, Flag{&C::overwrite}, Resume::own, Timing::none, "",
       "Replaces the run in an existing --run-dir, and an existing --save-weights"},
      {"progress", kOutput, words<&C::progress>(ProgressChoice::off), Resume::own, Timing::none, "",
       "Progress bar, a line an epoch, or neither; auto: a bar on a terminal"},
      {"trace", kOutput, Text{&C::trace}, Resume::own, Timing::none, "FILE",
       "Writes what each rank did when, for Perfetto or chrome://tracing"},
      {"trace-steps", kOutput, number(&C::trace_steps), Resume::own, Timing::none, "N",
       "Steps in the trace, from the first"},
      {"log-level", kOutput, words<&C::log_level>(LogLevel::off), Resume::free, Timing::none, "",
       "Logs messages of this importance and above, on the terminal and below --log-dir"},
      {"log-dir", kOutput, Text{&C::log_dir}, Resume::own, Timing::none, "DIR",
       "Also writes the log of each rank to a file there, rank-0.log and so on"},
  };
}

}  // namespace

const std::vector<TrainOption>& train_options() {
  static const Table table = [] {
    Table all;
    for (Table part :
         {model_options(), data_options(), optimizer_options(), batch_options(), device_options(),
          reduce_options(), check_options(), checkpoint_options(), output_options()}) {
      for (TrainOption& option : part) all.push_back(std::move(option));
    }
    return all;
  }();
  return table;
}

}  // namespace rueda
