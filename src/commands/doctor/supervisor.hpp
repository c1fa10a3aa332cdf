#pragma once

#include <functional>
#include <optional>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "doctor.hpp"
#include "facts.hpp"
#include "mailbox.hpp"
#include "rueda/train/timings.hpp"

namespace rueda::doctor {

/// The doctor of one rank. It never calls MPI or a driver itself, so that nothing in these can
/// crash or hang it. It starts a worker for them, collects the worker's facts, and limits the time
/// of each step.
class Supervisor {
 public:
  /// `speaks`: this rank writes the report. `before_transfer` is called when all but the transfer
  /// is known.
  Supervisor(const DoctorOptions& options, bool speaks,
             std::function<void(const ClusterFacts&)> before_transfer);
  /// Removes what the run left in the file system, if it speaks.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// All facts. Returns when the worker has written its last line or will write none.
  const ClusterFacts& run();
  /// The report is out. Lets the worker leave MPI, which needs the workers of all ranks, and kills
  /// it if it does not.
  void finish();

 private:
  void take(const nlohmann::json& line);
  void begin(const std::string& step, int factor);
  void begin_transfer();
  /// The worker has ended, or does so within `seconds`: why?
  void hear_silence(double seconds);
  void hear_interruption();
  void check_time();
  void watch_transfer();
  void give_up(const std::string& trouble);
  /// After a transfer that went wrong on this rank: writes it for the others and, if this rank
  /// speaks, reads theirs.
  void compare_notes();
  void collect(std::size_t ranks);
  /// Until the rank that speaks has read the notes: once this process is gone without its worker
  /// having left MPI, launchers end all ranks.
  void wait_for_report();
  bool over_time() const { return watch_.seconds() - step_began_ > limit_; }

  DoctorOptions options_;
  bool speaks_;
  std::function<void(const ClusterFacts&)> before_transfer_;
  ClusterFacts cluster_;
  Child child_;
  Mailbox mailbox_;
  Stopwatch watch_;
  double step_began_ = 0;
  double limit_ = 0;
  bool done_ = false;
  bool in_transfer_ = false;
  bool stalled_ = false;            ///< this rank's transfer ran out of time
  std::optional<double> asked_at_;  ///< when the worker was asked to end its transfer
  bool killed_ = false;             ///< the worker did not end when asked
  std::optional<TransferFacts> mine_;
};

}  // namespace rueda::doctor
