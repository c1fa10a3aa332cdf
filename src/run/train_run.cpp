#include "train_run.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "console.hpp"
#include "fit_batch.hpp"
#include "mpi/session/mpi_turn.hpp"
#include "output_file.hpp"
#include "print_error.hpp"
#include "remarks.hpp"
#include "resuming.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/display/result_table.hpp"
#include "rueda/display/start_block.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/record/trace_json.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/trainer.hpp"
#include "rueda/weights/weights_file.hpp"
#include "run_checkpoints.hpp"
#include "run_directory.hpp"
#include "stop_signals.hpp"
#include "train_setup.hpp"
#include "weights_target.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/engine_tuning.hpp"
#include "wiring/gradient_sums.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/open_monitor.hpp"
#include "wiring/shared_device_check.hpp"
#include "wiring/timed_setup.hpp"
#include "wiring/transport.hpp"
#include "wiring/version.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

/// One training run of one rank, from the first message to the last table. Steps that may fail on
/// one rank alone run `together`, so that all ranks fail alike.
class TrainRun {
 public:
  TrainRun(const TrainConfig& config, std::string command_line, const SelectedDevice& device,
           ThreadLevel threads, StartupClock& clock)
      : clock_(clock), device_(device), thread_level_(threads) {
    run_.config = config;
    run_.command_line = std::move(command_line);
    run_.started_at = utc_now();
    run_.versions = component_versions();
    // Nothing that it could look at changes.
    if (config.backend == BackendChoice::timed) run_.config.eval_every = 0;
    run_.versions.insert(run_.versions.begin(), {"rueda", program_version()});
  }

  ExitCode execute() {
    together(world_, [] {});  // meets the ranks that have nothing to train: see refuse_train
    require_same(world_, "the program version", version_text());
    require_same(world_, "the configuration", config_text(run_.config));
    settle_device();
    clock_.lap("mpi");
    together(world_, [this] { data_ = open_data(run_.config); });
    require_same(world_, "the data set", describe_data(data_));
    clock_.lap("data");
    together(world_, [this] {
      if (speaks()) claim_ = claim_to_resume(run_.config);
    });
    resuming_.begin(run_.config, data_lines(data_));
    together(world_,
             [this] { graph_ = build_model(run_.config.model, run_.config.image_size, kClasses); });
    read_weights();
    open_device();
    build_replica();
    open_run_directory();  // only now, so that refused input leaves no empty ones
    fill_replica();
    reducer_->warm_up();
    clock_.lap("all-reduce");
    describe_training(run_, data_, *graph_, plan_);
    train();
    return run_.outcome == "stopped" ? ExitCode::stopped : ExitCode::done;
  }

 private:
  bool speaks() const { return world_.rank() == 0; }

  void settle_device() {
    together(world_, [this] {
      if (device_.failure) std::rethrow_exception(device_.failure);
      // Refused before there is a run directory; --backend cuda without a GPU is open_backend's.
      const bool trains_on_cpu = !wants_cuda(run_.config.backend);
      if (trains_on_cpu) decide_transport(run_.config.transport, true, {});
    });
    self_.uuid = device_.uuid;
    remark(device_.remark);
    remark(
        check_shared_devices(world_, {world_.host(), device_.uuid}, run_.config.allow_shared_gpu));
  }

  void remark(const std::string& text) {
    if (!text.empty()) remark_ += (remark_.empty() ? "" : "; ") + text;
  }

  void warn(const std::string& text) {
    if (!text.empty()) warnings_.push_back(text);
  }

  void open_run_directory() {
    together(world_, [&] {
      if (!speaks()) return;
      check_weights_target(run_.config, resuming_.wrote_weights(run_.config));
      if (!will_exist(run_.config, fs::path(run_.config.trace).parent_path()))
        check_output_file("--trace", run_.config.trace);
      run_.config.run_dir = resuming_.active()
                                ? continue_run_directory(run_.config, resuming_.checkpoint(),
                                                         resuming_.from(), claim_)
                                : make_run_directory(run_.config, world_.size(), claim_);
    });
    run_.config.run_dir = all_gather_text(world_, run_.config.run_dir).front();
  }

  /// On rank 0 alone: the others get them by the broadcast that all weights go through.
  void read_weights() {
    initial_ = resuming_.read(*graph_, run_);
    together(world_, [this] {
      if (run_.config.init_weights.empty() || !speaks()) return;
      initial_.emplace(std::vector<float>(graph_->parameter_count()),
                       std::vector<float>(graph_->statistics_count()));
      load_weights(*graph_, run_.config.init_weights, initial_->first, initial_->second);
    });
    if (resuming_.active() || !run_.config.init_weights.empty()) clock_.lap("weights");
  }

  void open_device() {
    run_.timed = settle_compute(world_, run_.config, data_.train.size());
    const RankCores cores = settle_cores(world_, run_.config.threads);
    self_.cores = cores.share;
    settle_threads(cores);
    if (!run_.timed) remark(cores.choice.remark);  // waiting needs no core
    options_ = {.choice = run_.config.backend,
                .precision = run_.config.precision,
                .threads = self_.threads,
                .deterministic = run_.config.deterministic,
                .compute = run_.timed.value_or(TimedCompute{}),
                .jitter = {run_.config.seed, world_.rank()}};
    together(world_, [&] { backend_ = open_backend(options_); });
    sums_ = open_gradient_sums(world_, run_, *graph_, *backend_);
    warn(sums_.warning);
  }

  void settle_threads(const RankCores& cores) {
    const OverlapDecision decision =
        agree_on_overlap(world_, run_.config.overlap,
                         {.ranks = world_.size(),
                          .threads_may_take_turns = thread_level_ >= ThreadLevel::serialized,
                          .computes_on_host = !run_.timed && !wants_cuda(run_.config.backend),
                          .cores = cores.share,
                          .threads = cores.choice.threads,
                          .threads_given = run_.config.threads > 0});
    run_.overlaps = decision.on;
    self_.threads = decision.threads;
  }

  void build_replica() {
    const auto settle = [this](const std::function<void(Backend&)>& plan) {
      settle_engines(world_, run_.config, options_, *backend_, plan);
    };
    FittedReplica fitted =
        fit_replica(world_, {run_.config, *graph_, *backend_, *sums_.all_reduce, sums_.bucket_ends,
                             data_, world_.host(), device_.uuid, resuming_.active(), settle});
    plan_ = fitted.plan;
    replica_ = std::move(fitted.replica);
    run_.micro_batch = plan_.largest_micro_batch();
    run_.micro_batch_asked = fitted.asked;
    self_.memory = fitted.memory;
    warn(fitted.warning);
    clock_.lap("plan");
    clock_.carve("allocation", replica_->allocation_seconds());
    replica_->announce_buckets(sums_.bucket_ends);
    reducer_ =
        std::make_unique<GradientReducer>(ReducerParts{.replica = *replica_,
                                                       .all_reduce = *sums_.all_reduce,
                                                       .ends = sums_.bucket_ends,
                                                       .overlaps = run_.overlaps,
                                                       .turn = {take_mpi_turn, give_mpi_turn}});
  }

  void fill_replica() {
    replica_->initialise(run_.config.seed);
    if (initial_) upload_weights(*replica_, *std::exchange(initial_, std::nullopt));
    clock_.lap("initialise");
    broadcast_replica(world_, *replica_);
    clock_.lap("broadcast");
  }

  /// Collective: what only the ranks themselves know. The last thing before the first step.
  void introduce_ranks(std::size_t staging_bytes) {
    self_.local_rank = world_.local_rank();
    self_.host = world_.host();
    self_.backend = backend_->name();
    self_.device = backend_->device();
    self_.memory.staging = staging_bytes;
    self_.startup = clock_.items();
    run_.ranks = gather_rank_infos(world_, self_);
  }

  void train() {
    const auto remarks = all_gather_text(world_, remark_);
    Console console(run_, speaks());
    const auto monitor = open_monitor(device_.uuid);
    std::optional<DeviceWatch> watch;
    if (monitor) watch.emplace(*monitor, clock_.watch());
    RunCheckpoints checkpoints(world_, *graph_, *sums_.all_reduce, run_);
    Trainer trainer(run_.config, plan_,
                    {world_, *replica_, *reducer_, data_, console, clock_.watch(),
                     watch ? &*watch : nullptr, &checkpoints, stop_requested},
                    resuming_.from());
    resuming_.restore(*backend_, *sums_.all_reduce, trainer.velocities());
    clock_.lap("optimizer");
    introduce_ranks(trainer.staging_bytes());
    checkpoints.open(checkpoint_facts(run_, data_));
    resuming_.compare(machine_texts(run_.ranks), run_.versions);
    console.say(start_block(run_));
    for (const std::string& text : warnings_) console.say("warning: " + text);
    for (const std::string& text : remark_lines(data_.remarks, remarks)) console.say(text);
    for (const std::string& text : resuming_.remarks()) console.say("note: " + text);
    try {
      train_watched(trainer);
      checkpoints.settle();
      if (run_.outcome != "stopped") together(world_, [this] { write_weights(); });
    } catch (const std::exception& error) {
      record_failure(console, error.what());
      if (reducer_->busy()) complain(error.what());  // nobody else will get to say it
      throw;
    }
    finish(console);
    console.say(result_table(run_));
    if (run_.outcome == "stopped") console.say(stop_text(run_));
  }

  /// What comes before and behind waits for disks as well, and has a more patient watch.
  void train_watched(Trainer& trainer) {
    together(world_, [this] {
      if (speaks()) write_run_files(run_);  // an interruption leaves at least these
    });
    const auto watchdog = watch_sums(world_, run_.config, reducer_->journal());
    trainer.run(run_);
  }

  void write_weights() {
    if (run_.config.save_weights.empty() || !speaks()) return;
    const auto [parameters, statistics] = download_weights(*replica_);
    std::uint64_t steps = 0;
    for (const EpochRecord& epoch : run_.epochs) steps += epoch.steps;
    save_weights(*graph_, run_.config.save_weights, parameters, statistics, steps);
  }

  /// Leaves run.json with the reason; where that fails too, the reason alone is what matters.
  void record_failure(Console& console, const std::string& reason) {
    run_.outcome = "failed";
    run_.failure = reason;
    try {
      finish(console);
    } catch (const std::exception& error) {
      console.say(std::string("note: ") + error.what());
    }
  }

  void finish(Console& console) {
    run_.total_seconds = clock_.watch().seconds();
    console.say("");
    if (!speaks()) return;
    write_run_files(run_);
    if (!run_.config.trace.empty()) write_trace(run_.config.trace, run_);
  }

  StartupClock& clock_;
  Communicator world_;
  RunRecord run_;
  DirectoryClaim claim_;  ///< to the run directory, on rank 0
  RankInfo self_;
  const SelectedDevice& device_;
  ThreadLevel thread_level_;
  std::string remark_;                 ///< of this rank
  std::vector<std::string> warnings_;  ///< of rank 0 for all
  Dataset data_;
  Resuming resuming_{world_};
  std::optional<Graph> graph_;
  std::optional<HostWeights> initial_;  ///< from a file, until the replica has them
  RunPlan plan_;
  BackendOptions options_;
  std::unique_ptr<Backend> backend_;
  GradientSums sums_;
  std::unique_ptr<Replica> replica_;  ///< its gradients may lie in the arena of the all-reduce
  std::unique_ptr<GradientReducer> reducer_;
};

}  // namespace

ExitCode execute_training(const TrainConfig& config, std::string command_line,
                          const SelectedDevice& device, ThreadLevel threads, StartupClock& clock) {
  return TrainRun(config, std::move(command_line), device, threads, clock).execute();
}

}  // namespace rueda
