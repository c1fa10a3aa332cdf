#include "run/job.hpp"

#include <algorithm>
#include <exception>
#include <span>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "launch/control_group.hpp"
#include "launch/launcher.hpp"
#include "launch/thread_team.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/versions.hpp"

namespace rueda {
namespace {

/// Ranks load their programs and open their GPUs at different times.
constexpr double kLeastStartSeconds = 30;

/// Ends the run where MPI itself does not start within --stall-seconds. No rank
/// reads or plans yet, so nothing else takes long. Null where none is wanted.
std::unique_ptr<Watchdog> watch_start(const TrainConfig& config, const ReduceJournal& journal) {
  if (config.checks.stall_seconds == 0 || !has_peers()) return nullptr;
  const double seconds = std::max(kLeastStartSeconds, double(config.checks.stall_seconds));
  return std::make_unique<Watchdog>(
      Watched{rank_by_launcher(), host_name(), journal, seconds, true});
}

void report_errors_of_ranks(Session& session, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known != nullptr && is_agreed(error)) {
      // Before any rank finalizes MPI: a launcher ends the whole job when the first rank has left.
      if (speaks_for_all())
        print_error(error.what());
      else
        log(LogLevel::error, error.what());
      throw AlreadyReported{known->code()};
    }
    print_error(error.what());
    session.abort(known == nullptr ? ExitCode::run_failed : known->code());
  }
}

SelectedDevice select_prepared(const JobRequest& request) {
  SelectedDevice device;
  try {
    if (speaks_for_all()) request.prepare();
    device = select_device(request.config.device.backend);  // before MPI looks for one
  } catch (...) {
    device.failure = std::current_exception();
  }
  return device;
}

}  // namespace

Job::Job(Session& session, const SelectedDevice& device, const JobRequest& request)
    : session_(session), uuid_(device.uuid) {
  const TrainConfig& config = request.config;
  together(world_, [&] {  // meets the ranks that have nothing to do: see refuse_job
    if (device.failure) std::rethrow_exception(device.failure);
    open_log(config.output.log_level, config.output.log_dir, world_.rank());
  });
  require_same(world_, "the program version", version_text());
  require_same(world_, request.what, request.asked);
  request.settle(world_);
  set_log_level(config.output.log_level);
  const bool uses_gpu = wants_cuda(config.device.backend);
  if (!uses_gpu) uuid_.clear();  // a resumed run may turn out to compute without one
  log_of_ranks(world_, LogLevel::info, uses_gpu ? device.remark : "");
  check_shared_devices(world_, {world_.host(), uuid_}, config.device.allow_shared_gpu);
}

void Job::on_rank_0(const std::function<void()>& work) {
  together(world_, [&] {
    if (speaks()) work();
  });
}

RankCores Job::agree_on_cores(int requested_threads) {
  const std::vector<int> mine = allowed_cores();
  const auto cores = from_bytes<int>(world_.all_gather(std::as_bytes(std::span(mine))));
  const auto hosts = all_gather_text(world_, world_.host());
  NodeCores node{.allowed = {},
                 .online = online_cores(),
                 .quota = control_group_limits().quota.value,
                 .launched = launcher_local_rank(environment_variable).has_value(),
                 .cores = machine_cores()};
  std::size_t local = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != world_.host()) continue;
    if (rank == std::size_t(world_.rank())) local = node.allowed.size();
    node.allowed.push_back(cores[rank]);
  }
  RankCores found{choose_threads(node, local, requested_threads), core_share(node, local)};
  const int wanted = found.choice.threads;
  together(world_, [&] { found.choice.threads = settle_team(wanted); });
  std::string shortage = team_shortage(wanted, found.choice.threads, environment_variable);
  if (!shortage.empty())
    shortage += fmt::format("; this rank computes with {}",
                            counted(std::size_t(found.choice.threads), "thread"));
  log_of_ranks(world_, LogLevel::warn, shortage);
  return found;
}

int run_job(const JobRequest& request, const std::function<ExitCode(Job&)>& work) {
  const SelectedDevice device = select_prepared(request);
  const ReduceJournal no_sums;
  auto watchdog = watch_start(request.config, no_sums);  // outlives the session: it watches its end
  Session session(request.threads, ThreadLevel::funneled);
  {
    const Communicator launched;  // as in refuse_job, which other ranks may call
    check_launch(environment_variable, launched.size());
    watchdog.reset();  // one at a time
    watchdog = watch(launched, request.config, no_sums, kDiskPatience);
  }
  ExitCode code = ExitCode::done;
  report_errors_of_ranks(session, [&] {
    Job job(session, device, request);
    watchdog.reset();  // its patience may have been settled only now
    watchdog = watch(job.world(), request.config, no_sums, kDiskPatience);
    code = work(job);
  });
  return int(code);
}

void refuse_job(const Error& error) {
  const ReduceJournal no_sums;
  auto watchdog = watch_start({}, no_sums);
  Session session(ThreadLevel::funneled);
  check_launch(environment_variable, Communicator().size());
  Communicator world;
  watchdog.reset();  // other ranks may read and plan for long
  report_errors_of_ranks(session, [&] { together(world, [&error] { throw error; }); });
}

std::unique_ptr<Watchdog> watch(const Communicator& world, const TrainConfig& config,
                                const ReduceJournal& journal, double patience) {
  if (config.checks.stall_seconds == 0) return nullptr;
  const double seconds = patience * double(config.checks.stall_seconds);
  return std::make_unique<Watchdog>(Watched{world.rank(), world.host(), journal, seconds});
}

}  // namespace rueda
