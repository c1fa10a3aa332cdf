#pragma once

#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/computing.hpp"
#include "reduce/reduce_journal.hpp"

namespace rueda {

/// The rank that a watchdog watches.
struct Watched {
  int rank = 0;
  std::string host;
  const ReduceJournal& journal;  ///< of what sums; outlives the watchdog
  double seconds = 120;          ///< that one call, or one part of a step, may take
  bool starts = false;           ///< MPI is being started: the rank is the launcher's
};

/// ": step 17, bucket 2, reduce-scatter step 0, sends to rank 2, receives from rank 0".
std::string place_of(const ReduceNow& now);

/// "the ring is stuck. rank 1 on h0: in MPI_Sendrecv for 121 s: step 17, bucket
/// 2, reduce-scatter step 0, sends to rank 2, receives from rank 0". `reduce`
/// of no kind: "stuck outside the ring. rank 1 on h0: in MPI_Bcast for 121 s".
std::string describe_stall(const Watched& rank, const char* call, double seconds,
                           const ReduceNow& reduce);

/// "stuck outside the ring. rank 1 on h0: in a training step for 121 s: nothing
/// of it was done since layer1.0.conv1".
std::string describe_stall(const Watched& rank, const ComputingNow& computing, double seconds);

/// What the user is to do about a rank that waits for others, which follows a stall's message.
const char* stall_remedy(const Watched& rank);

/// A thread that looks whether this rank has been inside one call of MPI, one
/// message or one addition, for too long, because a peer or a link has stopped,
/// or inside one part of a step, because the rank itself has. It says so on
/// standard error, gives the other ranks a moment to do so, and ends the
/// process with exit code 1, without unwinding, because the thread that is
/// stuck has MPI. The launcher then ends the others.
class Watchdog {
 public:
  explicit Watchdog(Watched watched);
  Watchdog(const Watchdog&) = delete;

 private:
  void watch(const std::stop_token& stop);
  /// The stall in words, with what to do; empty if there is none.
  std::string stall() const;

  /// Seconds since `begin` during which this process ran.
  double awake_since(SteadyTime begin) const;

  Watched watched_;
  SteadyTime awake_;     ///< this process has not been stopped since
  std::jthread thread_;  // last: it uses the others
};

}  // namespace rueda
