#include "mpi/session/watchdog.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/start_thread.hpp"
#include "base/text.hpp"
#include "base/waiting.hpp"
#include "mpi/session/mpi_call.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {
namespace {

constexpr double kMostBetweenLooks = 1;
// More than that between two looks: this process itself was stopped meanwhile.
constexpr double kOverslept = 2;
// The other ranks stall at about the same time, and look as often.
constexpr double kForTheOthers = 3;

constexpr const char* kOwnStall =
    ". This rank waits for no other one: its threads, its GPU or its disk do not go on. Look at "
    "this host; where a part of a step may take that long, give a longer --stall-seconds\n";

}  // namespace

std::string place_of(const ReduceNow& now) {
  const auto& [kind, phase, step, to, from] = now.act;
  std::string text = ": warm-up";
  if (now.train_step > 0) text = fmt::format(": step {}", now.train_step);
  text += fmt::format(", bucket {}, {} step {}", now.bucket, phase, step);
  if (to >= 0) text += fmt::format(", sends to rank {}", to);
  if (from >= 0) text += fmt::format(", receives from rank {}", from);
  return text;
}

const char* stall_remedy(const Watched& rank) {
  if (rank.starts)
    return ". Every rank that has come prints such a line. If one is missing, it never came: look "
           "at what was started there. If none is missing, the ranks do not reach each other: "
           "rueda doctor, started in the same way, compares the networks of their hosts. (For "
           "train, --stall-seconds sets the limit, at least 30 here)\n";
  return ". Look at the ranks that others wait for: one that prints nothing has stopped. "
         "(For train, --stall-seconds sets the limit)\n";
}

std::string describe_stall(const Watched& rank, const char* call, double seconds,
                           const ReduceNow& reduce) {
  const std::string where =
      fmt::format("rank {} on {}: in {} for {} s", rank.rank, rank.host, call, long(seconds));
  if (reduce.act.kind == ReduceAct::Kind::none) return "stuck outside the ring. " + where;
  return "the ring is stuck. " + where + place_of(reduce);
}

std::string describe_stall(const Watched& rank, const ComputingNow& computing, double seconds) {
  std::string text = fmt::format("stuck outside the ring. rank {} on {}: in {} for {} s", rank.rank,
                                 rank.host, computing.what, long(seconds));
  if (computing.part != nullptr)
    text += fmt::format(": nothing of it was done since {} began", computing.part);
  return text;
}

Watchdog::Watchdog(Watched watched)
    : watched_(std::move(watched)),
      thread_(make_thread("the watchdog (--stall-seconds 0 needs none)",
                          std::bind_front(&Watchdog::watch, this))) {}

double Watchdog::awake_since(SteadyTime begin) const {
  return seconds_between(std::max(begin, awake_), SteadyClock::now());
}

std::string Watchdog::stall() const {
  const MpiCallNow call = mpi_call_now();
  const ReduceNow reduce = watched_.journal.now();
  if (call.name != nullptr) {
    const double seconds = awake_since(call.since);
    if (seconds < watched_.seconds) return "";
    return describe_stall(watched_, call.name, seconds, reduce) + stall_remedy(watched_);
  }
  // What waits without MPI: for an addition, or at a meeting in shared memory.
  if (reduce.act.kind != ReduceAct::Kind::none) {
    const double seconds = awake_since(reduce.since);
    if (seconds < watched_.seconds) return "";
    return describe_stall(watched_, "the sum", seconds, reduce) + stall_remedy(watched_);
  }
  // Between two messages of a sum, which takes part in a step's progress.
  const ComputingNow computing = computing_now();
  const double seconds = awake_since(std::max(computing.since, reduce.since));
  if (computing.what == nullptr || seconds < watched_.seconds) return "";
  return describe_stall(watched_, computing, seconds) + kOwnStall;
}

void Watchdog::watch(const std::stop_token& stop) {
  const double interval = std::min(kMostBetweenLooks, watched_.seconds / 4);
  SteadyTime last = SteadyClock::now();
  while (!stops_within(stop, interval)) {
    const SteadyTime now = SteadyClock::now();
    if (seconds_between(last, now) > interval + kOverslept) awake_ = now;
    last = now;
    const std::string text = stall();
    if (text.empty()) continue;
    std::fputs(harmless("rueda: " + text).c_str(), stderr);
    std::fflush(nullptr);
    if (stops_within(stop, kForTheOthers)) return;
    end_process("", ExitCode::run_failed);
  }
}

}  // namespace rueda
