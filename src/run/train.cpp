#include "run/train.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "launch/stop_signals.hpp"
#include "model/registry.hpp"
#include "mpi/session/mpi_call.hpp"
#include "record/recorded_path.hpp"
#include "record/run_json.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/balance_by_speed.hpp"
#include "run/bucket_size.hpp"
#include "run/checkpoints.hpp"
#include "run/fit_batch.hpp"
#include "run/job.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"
#include "run/training.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/overlap.hpp"
#include "run/wiring/plans.hpp"
#include "run/wiring/timed_setup.hpp"
#include "run/wiring/transport.hpp"
#include "run/wiring/versions.hpp"
#include "train/gradient_reducer.hpp"
#include "train/options.hpp"

// One training run of one rank, from the first message to the last table. Each
// stage takes what the earlier ones returned. What may fail on one rank alone
// runs `together`, so that all ranks fail alike.

namespace rueda {
namespace {

/// How this rank computes.
struct ComputePlan {
  std::optional<TimedCompute> timed;  ///< what it waits for, if it computes nothing
  double cores = 1;                   ///< that it may use
  int threads = 1;
  bool overlaps = false;
};

Graph build_graph(Job& job, const TrainConfig& config, const AgreedData& data) {
  Graph graph;
  together(job.world(), [&] {
    graph = build_model(config.model.name, config.model.image_size,
                        int(data.images.class_names.size()));
  });
  return graph;
}

/// On rank 0 alone: the others get them by the broadcast that all weights go through.
std::optional<HostWeights> read_weights(Job& job, const TrainConfig& config, const Graph& graph,
                                        Resuming& resuming) {
  std::optional<HostWeights> weights = resuming.take_weights();
  if (!config.model.init_weights.empty())
    job.on_rank_0([&] { weights = load_weights(graph, config.model.init_weights); });
  return weights;
}

ComputePlan plan_compute(Job& job, const TrainConfig& config, std::size_t train_images) {
  ComputePlan plan;
  plan.timed = choose_compute(job.world(), config, train_images);
  const RankCores cores = job.agree_on_cores(config.device.threads);
  if (!plan.timed)  // waiting needs no core
    log_of_ranks(job.world(), LogLevel::info, cores.choice.remark);
  const OverlapDecision decision = agree_on_overlap(
      job.world(), config.sums.overlap,
      {.ranks = job.world().size(),
       .threads_may_take_turns = job.session().provided() >= ThreadLevel::serialized,
       .computes_on_host = !plan.timed && !wants_cuda(config.device.backend),
       .cores = cores.share,
       .threads = cores.choice.threads,
       .threads_given = config.device.threads > 0});
  plan.cores = cores.share;
  plan.overlaps = decision.on;
  plan.threads = decision.threads;
  return plan;
}

/// An audit compares bits, so all ranks have to compute alike if it compares them.
void check_audit(Job& job, const TrainConfig& config, const Backend& backend, int threads) {
  if (config.checks.audit_every == 0) return;
  require_agreed(backend.name() != "cuda" || config.device.deterministic,
                 "--audit-every compares bits, which on a GPU only --deterministic repeats: "
                 "give both");
  if (config.checks.audit_by == AuditBy::self) return;
  require_same(job.world(), "without --audit-by self what --audit-every compares",
               fmt::format("device {}\nthreads {}\n", backend.device(), threads));
}

BackendOptions backend_options(Job& job, const TrainConfig& config, const ComputePlan& plan) {
  BackendOptions options = options_of(config, plan.threads);
  options.compute = plan.timed.value_or(TimedCompute{});
  options.jitter = {config.training.seed, job.world().rank()};
  return options;
}

/// Without these a resumed run would not repeat its bits. On other ranks they mean nothing.
std::vector<std::size_t> resumed_shares(Job& job, const TrainConfig& config,
                                        const Resuming& resuming) {
  const std::vector<std::size_t>& shares = resuming.from().shares;
  if (!config.batch.balance.by_speed || shares.size() != std::size_t(job.world().size())) return {};
  return shares;
}

/// Gives each rank the part of a global batch that suits its speed.
void balance_by_speed(const FitRequest& request, FittedReplica& fitted) {
  const auto shares = measure_shares(request.job.world(), fitted.plan, request.data.train,
                                     request.config.model.image_size, *fitted.replica);
  if (shares != fitted.plan.rank_batches()) refit_replica(request, shares, fitted);
}

/// The same parameters on all ranks.
void fill_replica(Job& job, const TrainConfig& config, std::optional<HostWeights> initial,
                  Replica& replica, StartupClock& clock) {
  replica.initialise(config.training.seed);
  if (initial) upload_weights(replica, *initial);
  clock.lap("initialise");
  broadcast_replica(job.world(), replica);
  clock.lap("broadcast");
}

std::string open_run_directory(Job& job, const TrainConfig& config, const Resuming& resuming,
                               DirectoryClaim& claim) {
  return text_of_rank_0(job.world(), [&] {
    log(LogLevel::info, overwrite_remark(config));
    for (const std::string& line : idle_options(config)) log(LogLevel::info, line);
    check_targets(config, resuming.wrote_weights(config));
    return resuming.active()
               ? continue_run_directory(config, resuming.checkpoint(), resuming.from(), claim)
               : make_run_directory(config, job.world().size(), claim);
  });
}

/// What the stages have found out, in the record. Returns what is of this rank alone.
RankInfo describe_compute(RunRecord& run, const Job& job, const ComputePlan& compute,
                          const GradientSums& sums, const FittedReplica& fitted) {
  run.timed = compute.timed;
  run.overlaps = compute.overlaps;
  run.bucket_mb = sums.bucket_mb;
  run.bucket_bytes = sizes_of_buckets(sums.bucket_ends);
  run.gradient_bytes = sums.bucket_ends.back() * sizeof(float);
  run.transport = to_string(sums.transport);
  run.all_reduce = sums.name;
  run.all_reduce_details = sums.all_reduce->details();
  run.reduce_table = sums.table;
  run.auto_all_reduce = sums.other_choice;
  describe_parts(run, fitted);
  const Backend& backend = fitted.replica->backend();
  RankInfo self;
  self.backend = backend.name();
  self.device = backend.device();
  self.uuid = job.uuid();
  self.cores = compute.cores;
  self.threads = compute.threads;
  self.memory = fitted.memory;
  return self;
}

/// Refuses a --transport for which there is no device, before data is read.
void refuse_transport(Job& job, const TrainConfig& config) {
  together(job.world(), [&] {
    // open_backend refuses --backend cuda without a GPU.
    if (!wants_cuda(config.device.backend)) decide_transport(config.sums.transport, true, {});
  });
}

RunRecord begin_record(const TrainConfig& config, const std::string& command_line) {
  RunRecord run;
  run.config = config;
  run.command_line = command_line;
  run.started_at = utc_now();
  run.working_directory = working_directory();
  run.versions = component_versions();
  return run;
}

/// A run that has ended and was started again: its files stay. Weights that are asked for anew
/// are those of its last checkpoint.
void leave_as_it_is(Job& job, const RunRecord& run, const std::string& ended, const Graph& graph,
                    const Resuming& resuming, const std::optional<HostWeights>& weights) {
  job.on_rank_0([&] {
    const OutputConfig& output = run.config.output;
    check_targets(run.config, resuming.wrote_weights(run.config));
    std::error_code none;
    if (names_weights(output.save_weights) && !fs::exists(output.save_weights, none))
      save_weights(run, graph, *weights);
    log(LogLevel::info, fmt::format("the run in {} is finished ({} after {}): its record stays as "
                                    "it is",
                                    output.run_dir, ended, counted(run.epochs.size(), "epoch")));
  });
}

/// From a settled configuration to the end of training.
ExitCode train(Job& job, const TrainConfig& config, const std::string& command_line,
               const AgreedData& data, Resuming& resuming, DirectoryClaim& claim,
               StartupClock& clock) {
  const Graph graph = build_graph(job, config, data);
  RunRecord run = begin_record(config, command_line);
  resuming.read(graph, run);
  std::optional<HostWeights> initial = read_weights(job, config, graph, resuming);
  if (const std::string ended = resuming.ended(config, run); !ended.empty()) {
    leave_as_it_is(job, run, ended, graph, resuming, initial);
    return ExitCode::done;
  }
  if (resuming.active() || !config.model.init_weights.empty()) clock.lap("weights");
  const ComputePlan compute = plan_compute(job, config, data.images.train.size());
  const BackendOptions options = backend_options(job, config, compute);
  std::unique_ptr<Backend> backend;
  together(job.world(), [&] { backend = open_backend(options); });
  check_audit(job, config, *backend, compute.threads);
  const bool measures = measures_bucket_size(config, compute.overlaps);
  GradientSums sums =
      open_gradient_sums(job.world(), config, measures, graph, *backend, resuming.reduce_table());
  const FitRequest request{job,      config, options,     graph,
                           *backend, sums,   data.images, resuming.active()};
  const std::vector<std::size_t> shares = resumed_shares(job, config, resuming);
  FittedReplica fitted = fit_replica(request, shares);
  log_plans(*backend);
  clock.lap("plan");
  clock.carve("allocation", fitted.replica->allocation_seconds());
  // Only now, so that refused input leaves no empty ones.
  run.config.output.run_dir = open_run_directory(job, config, resuming, claim);
  fill_replica(job, config, std::move(initial), *fitted.replica, clock);
  if (config.batch.balance.by_speed && shares.empty() && job.world().size() > 1) {
    balance_by_speed(request, fitted);
    clock.lap("balance");
  }
  if (measures) {
    settle_buckets(job.world(), config, compute.timed, fitted.plan, data.images.train,
                   *fitted.replica, sums);
    clock.lap("buckets");
  }
  GradientReducer reducer({*fitted.replica, *sums.all_reduce, sums.bucket_ends, compute.overlaps,
                           TurnHooks{take_mpi_turn, give_mpi_turn}});
  reducer.warm_up();
  clock.lap("all-reduce");
  const RankInfo self = describe_compute(run, job, compute, sums, fitted);
  describe_training(run, data.images, graph, fitted.plan);
  Training({job, config, data, graph, request, fitted, sums, reducer, resuming, clock}, run, self)
      .train();
  return run.outcome == "stopped" ? ExitCode::stopped : ExitCode::done;
}

/// All ranks know the fault of a test: some kinds change what each of them does.
std::string fault_line(const InjectedFault& fault) {
  return fmt::format("{} {}\n", kFaultVariable, to_string(fault));
}

}  // namespace

int run_train(const TrainConfig& asked, const std::string& command_line) {
  listen_for_stop_signals();  // before MPI starts, which takes a minute in some containers
  StartupClock clock;
  TrainConfig config = asked;
  std::optional<Resuming> resuming;
  DirectoryClaim claim;  // to the run directory, on rank 0
  // A communication thread takes turns with this one.
  const JobRequest request{.config = config,
                           .what = "the configuration",
                           .asked = config_text(asked) + fault_line(asked.checks.fault),
                           .threads = ThreadLevel::serialized,
                           .settle = [&](RankGroup& world) {
                             resuming.emplace(world).find(config, claim);
                             // The timed backend has no weights to evaluate.
                             if (config.device.backend == BackendChoice::timed)
                               config.training.eval_every = 0;
                           }};
  return run_job(request, [&](Job& job) {
    refuse_transport(job, config);
    clock.lap("mpi");
    const AgreedData data = agree_on_data(job.world(), config);
    clock.lap("data");
    resuming->begin(config, data.lines, data.images.train.size());
    return train(job, config, command_line, data, *resuming, claim, clock);
  });
}

}  // namespace rueda
