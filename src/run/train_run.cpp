#include "train_run.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "console.hpp"
#include "fit_batch.hpp"
#include "log.hpp"
#include "mpi/session/mpi_call.hpp"
#include "output_file.hpp"
#include "resuming.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/display/run_text.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/trainer.hpp"
#include "run_checkpoints.hpp"
#include "run_directory.hpp"
#include "stop_signals.hpp"
#include "train_setup.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/engine_tuning.hpp"
#include "wiring/gradient_sums.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/timed_setup.hpp"
#include "wiring/transport.hpp"
#include "wiring/version.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

/// One training run of one rank, from the first message to the last table. What may fail on one
/// rank alone runs `together`, so that all ranks fail alike.
class TrainRun {
 public:
  TrainRun(const TrainConfig& config, std::string command_line, const SelectedDevice& device,
           ThreadLevel threads, StartupClock& clock)
      : clock_(clock), device_(device), thread_level_(threads) {
    run_.config = config;
    run_.command_line = std::move(command_line);
    run_.started_at = utc_now();
    run_.versions = component_versions();
    // The timed backend has no weights to evaluate.
    if (config.backend == BackendChoice::timed) run_.config.eval_every = 0;
    run_.versions.insert(run_.versions.begin(), {"rueda", program_version()});
  }

  ExitCode execute() {
    agree();
    read_data();
    read_weights();
    open_device();
    build_replica();
    open_run_directory();  // only now, so that refused input leaves no empty ones
    fill_replica();
    train();
    return run_.outcome == "stopped" ? ExitCode::stopped : ExitCode::done;
  }

 private:
  bool speaks() const { return world_.rank() == 0; }

  /// Rank 0 alone works, and all ranks fail with it.
  void on_rank_0(const auto& work) {
    together(world_, [&] {
      if (speaks()) work();
    });
  }

  void agree() {
    together(world_, [] {});  // meets the ranks that have nothing to train: see refuse_train
    require_same(world_, "the program version", version_text());
    require_same(world_, "the configuration", config_text(run_.config));
    together(world_,
             [this] { open_log(run_.config.log_level, run_.config.log_dir, world_.rank()); });
    check_device();
    clock_.lap("mpi");
  }

  void check_device() {
    together(world_, [this] {
      if (device_.failure) std::rethrow_exception(device_.failure);
      // Refused before there is a run directory; --backend cuda without a GPU is open_backend's.
      if (!wants_cuda(run_.config.backend)) decide_transport(run_.config.transport, true, {});
    });
    self_.uuid = device_.uuid;
    remark(device_.remark);
    remark(
        check_shared_devices(world_, {world_.host(), device_.uuid}, run_.config.allow_shared_gpu));
  }

  void read_data() {
    together(world_, [this] { data_ = open_data(run_.config); });
    require_same(world_, "the data set", fmt::format("{}\n", fmt::join(data_lines(data_), "\n")));
    clock_.lap("data");
    on_rank_0([this] { claim_ = claim_to_resume(run_.config); });
    resuming_.begin(run_.config, data_lines(data_));
    together(world_,
             [this] { graph_ = build_model(run_.config.model, run_.config.image_size, kClasses); });
  }

  void remark(const std::string& text) {
    if (!text.empty()) remark_ += (remark_.empty() ? "" : "; ") + text;
  }

  void open_run_directory() {
    on_rank_0([this] {
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
    const std::string& file = run_.config.init_weights;
    on_rank_0([&] {
      if (!file.empty()) initial_ = load_weights(*graph_, file);
    });
    if (resuming_.active() || !file.empty()) clock_.lap("weights");
  }

  void open_device() {
    run_.timed = choose_compute(world_, run_.config, data_.train.size());
    const RankCores cores = agree_on_cores(world_, run_.config.threads);
    self_.cores = cores.share;
    choose_threads_and_overlap(cores);
    if (!run_.timed) remark(cores.choice.remark);  // waiting needs no core
    options_ = {.choice = run_.config.backend,
                .precision = run_.config.precision,
                .threads = self_.threads,
                .deterministic = run_.config.deterministic,
                .compute = run_.timed.value_or(TimedCompute{}),
                .jitter = {run_.config.seed, world_.rank()}};
    together(world_, [&] { backend_ = open_backend(options_); });
    sums_ = open_gradient_sums(world_, run_, *graph_, *backend_);
    warnings_.push_back(sums_.warning);
  }

  void choose_threads_and_overlap(const RankCores& cores) {
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
    const auto choose_engines = [this](const std::function<void(Backend&)>& plan) {
      agree_on_engines(world_, run_.config, options_, *backend_, plan);
    };
    FittedReplica fitted = fit_replica(
        world_, {run_.config, *graph_, *backend_, *sums_.all_reduce, sums_.bucket_ends, data_,
                 world_.host(), device_.uuid, resuming_.active(), choose_engines});
    plan_ = fitted.plan;
    replica_ = std::move(fitted.replica);
    run_.micro_batch = plan_.largest_micro_batch();
    run_.micro_batch_asked = fitted.asked;
    self_.memory = fitted.memory;
    warnings_.push_back(fitted.warning);
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
    reducer_->warm_up();
    clock_.lap("all-reduce");
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
    describe_training(run_, data_, *graph_, plan_);
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
    for (const std::string& text : warnings_) {
      if (!text.empty()) console.report(LogLevel::warn, text);
    }
    for (const std::string& text : remark_lines(data_.remarks, remarks)) {
      console.report(LogLevel::info, text);
    }
    for (const std::string& text : resuming_.remarks()) console.report(LogLevel::info, text);
    try {
      train_watched(trainer);
      checkpoints.wait_for_writer();
      if (run_.outcome != "stopped") on_rank_0([this] { save_weights(run_, *graph_, *replica_); });
    } catch (const std::exception& error) {
      record_failure(console, error.what());
      if (reducer_->busy()) print_error(error.what());  // this rank may never get to report it
      throw;
    }
    finish(console);
    console.say(result_table(run_));
    if (run_.outcome == "stopped") console.say(stop_text(run_));
  }

  /// What comes before and after also waits for disks, and is watched more patiently.
  void train_watched(Trainer& trainer) {
    on_rank_0([this] { write_run_files(run_); });  // an interruption leaves at least these
    const auto watchdog = watch_sums(world_, run_.config, reducer_->journal());
    trainer.run(run_);
  }

  /// Leaves run.json with the reason, if that can be written.
  void record_failure(Console& console, const std::string& reason) {
    run_.outcome = "failed";
    run_.failure = reason;
    try {
      finish(console);
    } catch (const std::exception& error) {
      console.report(LogLevel::info, error.what());
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
  std::vector<std::string> warnings_;  ///< of rank 0 for all; may be empty
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
