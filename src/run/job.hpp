#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "launch/machine.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/session/session.hpp"
#include "mpi/session/watchdog.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/train/config.hpp"
#include "run/wiring/device_choice.hpp"

namespace rueda {

/// What the ranks of a job are started for.
struct JobRequest {
  const TrainConfig& config;
  std::string what;   ///< `asked`, as messages name it
  std::string asked;  ///< what all ranks must have been asked alike, one option a line
  /// Before MPI starts, on the rank that speaks for all. What it throws is
  /// thrown on all ranks.
  std::function<void()> prepare = [] {};
  ThreadLevel threads = ThreadLevel::funneled;  ///< wanted; less will do
  /// Collective, once all ranks are known to have been asked alike: may still
  /// change `config`, alike on all ranks.
  std::function<void(RankGroup&)> settle = [](RankGroup&) {};
};

/// The threads of a rank, from what the ranks of its node may use.
struct RankCores {
  ThreadChoice choice;
  double share = 1;
};

/// The ranks of a job, which agreed to do the same, and this rank's device:
/// what `train`, `evaluate` and `bench` have in common.
class Job {
 public:
  /// Collective. Opens the log. Throws InputError, alike on all ranks, where
  /// versions or what was asked differ, or ranks share a GPU unasked.
  Job(Session& session, const SelectedDevice& device, const JobRequest& request);

  Session& session() const { return session_; }
  Communicator& world() { return world_; }
  bool speaks() const { return world_.rank() == 0; }
  /// Of this rank's GPU; empty without one.
  const std::string& uuid() const { return uuid_; }

  /// Rank 0 alone works, and all ranks fail with it.
  void on_rank_0(const std::function<void()>& work);
  /// Collective.
  RankCores agree_on_cores(int requested_threads);

 private:
  Session& session_;
  Communicator world_;
  std::string uuid_;
};

/// Thrown in place of an error that the user has seen.
struct AlreadyReported {
  ExitCode code;
};

/// Selects this process's GPU, starts MPI, and does the `work` of one rank. A
/// watchdog ends a start that takes longer than --stall-seconds, and any call
/// of MPI that takes kDiskPatience times as long. An error that all ranks throw
/// alike is printed by one of them (and thrown as AlreadyReported). An error of
/// this rank alone is printed by it, and ends the job: peers may wait in a
/// collective that it will never reach. Returns the exit code.
int run_job(const JobRequest& request, const std::function<ExitCode(Job&)>& work);

/// Collective with the run_job of other ranks: this rank's command line is
/// faulty, theirs may not be. The lowest such rank's error is printed, and all
/// ranks throw AlreadyReported.
void refuse_job(const Error& error);

/// Calls before and after training may take this many times --stall-seconds:
/// disks are slow.
inline constexpr double kDiskPatience = 10;

/// Ends the run where one call of MPI takes longer than `patience` times
/// --stall-seconds. Null where none is wanted.
std::unique_ptr<Watchdog> watch(const Communicator& world, const TrainConfig& config,
                                const ReduceJournal& journal, double patience);

}  // namespace rueda
