#include "run/train.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "model/registry.hpp"
#include "mpi/session/mpi_call.hpp"
#include "mpi/session/session.hpp"
#include "mpi/session/watchdog.hpp"
#include "record/run_json.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/checkpoints.hpp"
#include "run/console.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"
#include "run/wiring/device_choice.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/transport.hpp"
#include "train/train_loop.hpp"

namespace rueda {
namespace {

/// Ranks load their programs and open their GPUs at different times.
constexpr double kLeastStartSeconds = 30;

/// Ends the run where MPI itself does not start within --stall-seconds. No rank
/// reads or plans yet, so nothing else takes long. Null where none is wanted.
std::unique_ptr<Watchdog> watch_start(const TrainConfig& config, const ReduceJournal& journal) {
  if (config.stall_seconds == 0 || !has_peers()) return nullptr;
  const double seconds = std::max(kLeastStartSeconds, double(config.stall_seconds));
  return std::make_unique<Watchdog>(
      Watched{rank_by_launcher(), host_name(), journal, seconds, true});
}

/// Ends the run where one call of MPI takes longer than `patience` times
/// --stall-seconds. Null where none is wanted.
std::unique_ptr<Watchdog> watch(const Communicator& world, const TrainConfig& config,
                                const ReduceJournal& journal, double patience) {
  if (config.stall_seconds == 0 || world.size() == 1) return nullptr;
  const double seconds = patience * double(config.stall_seconds);
  return std::make_unique<Watchdog>(Watched{world.rank(), world.host(), journal, seconds});
}

/// One training run of one rank, from the first message to the last table. What
/// may fail on one rank alone runs `together`, so that all ranks fail alike.
class TrainRun {
 public:
  TrainRun(const TrainConfig& config, std::string command_line, const SelectedDevice& device,
           Session& session, StartupClock& clock)
      : clock_(clock), session_(session), device_(device) {
    run_.config = config;
    run_.command_line = std::move(command_line);
    run_.started_at = utc_now();
    run_.versions = component_versions();
    // The timed backend has no weights to evaluate.
    if (config.backend == BackendChoice::timed) config_.eval_every = 0;
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
  /// Rank 0 alone works, and all ranks fail with it.
  void on_rank_0(const auto& work) {
    together(world_, [&] {
      if (world_.rank() == 0) work();
    });
  }

  void agree() {
    together(world_, [] {});  // meets the ranks that have nothing to train: see refuse_train
    require_same(world_, "the program version", version_text());
    require_same(world_, "the configuration", config_text(config_));
    together(world_, [this] { open_log(config_.log_level, config_.log_dir, world_.rank()); });
    check_device();
    clock_.lap("mpi");
  }

  void check_device() {
    together(world_, [this] {
      if (device_.failure) std::rethrow_exception(device_.failure);
      // Refused before there is a run directory; --backend cuda without a GPU is open_backend's.
      if (!wants_cuda(config_.backend)) decide_transport(config_.transport, true, {});
    });
    self_.uuid = device_.uuid;
    remark(device_.remark);
    remark(check_shared_devices(world_, {world_.host(), device_.uuid}, config_.allow_shared_gpu));
  }

  void read_data() {
    together(world_, [this] { data_ = open_data(config_); });
    warnings_ = data_.warnings;
    require_same(world_, "the data set", fmt::format("{}\n", fmt::join(data_lines(data_), "\n")));
    clock_.lap("data");
    on_rank_0([this] { claim_ = claim_to_resume(config_); });
    resuming_.begin(config_, data_lines(data_), data_.train.size());
    together(world_, [this] {
      graph_ = build_model(config_.model, config_.image_size, int(data_.class_names.size()));
    });
  }

  void remark(const std::string& text) {
    if (!text.empty()) remark_ += (remark_.empty() ? "" : "; ") + text;
  }

  void open_run_directory() {
    config_.run_dir = text_of_rank_0(world_, [this] {
      remark(overwrite_remark(config_));
      for (const std::string& line : idle_options(config_)) remark(line);
      check_targets(config_, resuming_.wrote_weights(config_));
      return resuming_.active()
                 ? continue_run_directory(config_, resuming_.checkpoint(), resuming_.from(), claim_)
                 : make_run_directory(config_, world_.size(), claim_);
    });
  }

  /// On rank 0 alone: the others get them by the broadcast that all weights go through.
  void read_weights() {
    initial_ = resuming_.read(*graph_, run_);
    if (!config_.init_weights.empty())
      on_rank_0([this] { initial_ = load_weights(*graph_, config_.init_weights); });
    if (resuming_.active() || !config_.init_weights.empty()) clock_.lap("weights");
  }

  void open_device() {
    run_.timed = choose_compute(world_, config_, data_.train.size());
    const RankCores cores = agree_on_cores(world_, config_.threads);
    self_.cores = cores.share;
    choose_threads_and_overlap(cores);
    if (!run_.timed) remark(cores.choice.remark);  // waiting needs no core
    options_ = {.choice = config_.backend,
                .precision = config_.precision,
                .threads = self_.threads,
                .deterministic = config_.deterministic,
                .plan_cache = config_.plan_cache,
                .compute = run_.timed.value_or(TimedCompute{}),
                .jitter = {config_.seed, world_.rank()}};
    together(world_, [&] { backend_ = open_backend(options_); });
    if (config_.audit_every > 0) check_audit();
    sums_ = open_gradient_sums(world_, run_, *graph_, *backend_);
    warnings_.push_back(sums_.warning);
  }

  /// An audit compares bits, so all ranks have to compute alike.
  void check_audit() {
    require_agreed(backend_->name() != "cuda" || config_.deterministic,
                   "--audit-every compares bits, which on a GPU only --deterministic repeats: "
                   "give both");
    require_same(world_, "what --audit-every compares",
                 fmt::format("device {}\nthreads {}\n", backend_->device(), self_.threads));
  }

  void choose_threads_and_overlap(const RankCores& cores) {
    const OverlapDecision decision =
        agree_on_overlap(world_, config_.overlap,
                         {.ranks = world_.size(),
                          .threads_may_take_turns = session_.provided() >= ThreadLevel::serialized,
                          .computes_on_host = !run_.timed && !wants_cuda(config_.backend),
                          .cores = cores.share,
                          .threads = cores.choice.threads,
                          .threads_given = config_.threads > 0});
    run_.overlaps = decision.on;
    self_.threads = decision.threads;
  }

  void build_replica() {
    const auto choose_engines = [this](const std::function<void(Backend&)>& plan) {
      warnings_.push_back(agree_on_engines(world_, config_, options_, *backend_, plan));
    };
    const auto prepare = [this](const std::function<void()>& plan) {
      compile_in_turns(world_, *backend_, plan);
    };
    FittedReplica fitted = fit_replica(
        world_, {config_, *graph_, *backend_, *sums_.all_reduce, sums_.bucket_ends, data_,
                 world_.host(), device_.uuid, resuming_.active(), choose_engines, prepare});
    plan_ = fitted.plan;
    replica_ = std::move(fitted.replica);
    run_.micro_batch = plan_.largest_micro_batch();
    run_.micro_batch_asked = fitted.asked;
    self_.memory = fitted.memory;
    warnings_.push_back(fitted.warning);
    warnings_.push_back(left_out_engines(*backend_));
    warnings_.push_back(backend_->slow_plans());
    for (const std::string& note : plan_cache_notes(*backend_)) log(LogLevel::debug, note);
    clock_.lap("plan");
    clock_.carve("allocation", replica_->allocation_seconds());
  }

  void fill_replica() {
    replica_->initialise(config_.seed);
    if (initial_) upload_weights(*replica_, *std::exchange(initial_, std::nullopt));
    clock_.lap("initialise");
    broadcast_replica(world_, *replica_);
    clock_.lap("broadcast");
    if (run_.measures_bucket_size()) {
      run_.bucket_mb =
          measure_bucket_mb(world_, run_, plan_, data_.train, *replica_, *sums_.all_reduce);
      sums_.bucket_ends = cut_buckets(run_, *graph_, world_.size());
      clock_.lap("buckets");
    }
    if (run_.overlaps) replica_->announce_buckets(sums_.bucket_ends);
    reducer_ = std::make_unique<GradientReducer>(
        ReducerParts{*replica_, *sums_.all_reduce, sums_.bucket_ends, run_.overlaps,
                     TurnHooks{take_mpi_turn, give_mpi_turn}});
    reducer_->warm_up();
    clock_.lap("all-reduce");
  }

  /// Collective: what only the ranks themselves know. The last thing before the first step.
  void introduce_ranks() {
    self_.backend = backend_->name();
    self_.device = backend_->device();
    self_.startup = clock_.items();
    run_.ranks = gather_rank_infos(world_, self_);
  }

  void train() {
    describe_training(run_, data_, *graph_, plan_);
    const char* tree = environment_variable("RUEDA_POWERCAP");
    const auto host = world_.local_rank() == 0 ? open_host_monitor(tree) : nullptr;
    if (host) remark(host->take_trouble());
    const auto remarks = all_gather_text(world_, remark_);
    Console console(run_, world_.rank() == 0, reducer_->journal());
    const auto monitor = open_monitor(device_.uuid);
    RunCheckpoints checkpoints(session_, world_, *replica_, run_, data_lines(data_));
    const auto save = [&](const auto& position, auto velocities) {
      note_time();
      checkpoints.save(position, velocities);
    };
    auto trainer = std::make_unique<TrainLoop>(
        TrainerParts{config_, plan_, world_, *replica_, *reducer_, data_, console, clock_.watch(),
                     resuming_.from(), monitor.get(), host.get(), stop_requested, save});
    resuming_.restore(*backend_, trainer->velocities());
    clock_.lap("optimizer");
    introduce_ranks();
    console.begin(run_, warnings_, remark_lines(data_.remarks, remarks, resuming_.remarks(run_)));
    try {
      train_watched(*trainer);
      checkpoints.wait_for_writer();
      if (run_.outcome != "stopped") on_rank_0([this] { save_weights(run_, *graph_, *replica_); });
    } catch (const std::exception& error) {
      note_time();
      console.fail(run_, error.what());
      if (reducer_->busy()) print_error(error.what());  // this rank may never get to report it
      throw;
    }
    note_time();
    console.end(run_);
    trainer.reset();  // and with it the thread that watches the host
    const auto troubles = all_gather_text(world_, host ? host->take_trouble() : "");
    for (const std::string& line : remark_lines({}, troubles, {})) log(LogLevel::warn, line);
  }

  void note_time() { run_.total_seconds = run_.earlier_seconds + clock_.watch().seconds(); }

  /// What comes before and after also waits for disks, and is watched more patiently.
  void train_watched(TrainLoop& trainer) {
    on_rank_0([this] { write_run_files(run_); });  // an interruption leaves at least these
    const auto watchdog = watch(world_, config_, reducer_->journal(), 1);
    trainer.run(run_);
  }

  StartupClock& clock_;
  Session& session_;
  Communicator world_;
  RunRecord run_;
  TrainConfig& config_ = run_.config;
  DirectoryClaim claim_;  ///< to the run directory, on rank 0
  RankInfo self_;
  const SelectedDevice& device_;
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

int run_train(const TrainConfig& config, std::string command_line) {
  StartupClock clock;
  const SelectedDevice device = select_device(config.backend);  // before MPI looks for one
  const ReduceJournal no_sums;
  auto watchdog = watch_start(config, no_sums);  // outlives the session, whose end it watches too
  // A communication thread takes turns with this one.
  Session session(ThreadLevel::serialized, ThreadLevel::funneled);
  listen_for_stop_signals();
  {
    const Communicator launched;  // as in refuse_train, which other ranks may call
    check_launch(environment_variable, launched.size());
    watchdog.reset();  // one at a time
    watchdog = watch(launched, config, no_sums, kDiskPatience);
  }
  ExitCode code = ExitCode::done;
  report_errors_of_ranks(session, [&] {
    code = TrainRun(config, std::move(command_line), device, session, clock).execute();
  });
  return int(code);
}

void refuse_train(const Error& error) {
  const ReduceJournal no_sums;
  auto watchdog = watch_start({}, no_sums);
  Session session(ThreadLevel::funneled);
  check_launch(environment_variable, Communicator().size());
  Communicator world;
  watchdog.reset();  // other ranks may read and plan for long
  report_errors_of_ranks(session, [&] { together(world, [&error] { throw error; }); });
}

}  // namespace rueda
