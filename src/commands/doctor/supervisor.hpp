#pragma once

#include <functional>
#include <optional>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "facts.hpp"
#include "mailbox.hpp"
#include "options.hpp"
#include "rueda/train/phase_timer.hpp"

namespace rueda::doctor {

/// One rank's doctor: never calls MPI or a driver itself, so nothing of these can crash or hang it.
/// It starts a worker that does, collects what that says, and gives each step a time limit.
class Supervisor {
 public:
  /// `before_transfer` is called when all but the transfer is known.
  Supervisor(const DoctorOptions& options, bool speaks,
             std::function<void(const ClusterFacts&)> before_transfer);
  /// Removes what the run left in the file system, if it speaks.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// All that could be learnt. Returns when the worker has said its last word or has none.
  const ClusterFacts& run();
  /// Lets the worker leave MPI, which needs those of all ranks, and ends it if it does not.
  void finish();

 private:
  void take(const nlohmann::json& line);
  void begin(const std::string& step, int factor);
  void begin_transfer();
  /// The worker wrote no more: why?
  void hear_silence();
  void check_time();
  void watch_transfer();
  void give_up(const std::string& trouble);
  /// After a transfer that went wrong somewhere: tells the others and, where this rank speaks,
  /// learns from them.
  void compare_notes();
  void collect(std::size_t ranks);
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
  std::optional<TransferFacts> mine_;
};

}  // namespace rueda::doctor
