#include "watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kMostBetweenLooks{1.0};
// The others stall at about the same time, and look as often.
constexpr Seconds kForTheOthers{3.0};

double since(SteadyTime time) { return Seconds(std::chrono::steady_clock::now() - time).count(); }

std::string peers(const ReduceAct& act) {
  std::string text;
  if (act.to >= 0) text += ", sends to rank " + std::to_string(act.to);
  if (act.from >= 0) text += ", receives from rank " + std::to_string(act.from);
  return text;
}

ReduceNow current(const std::vector<const ReduceJournal*>& journals) {
  for (const ReduceJournal* journal : journals) {
    const ReduceNow now = journal->now();
    if (now.act.kind != ReduceAct::Kind::none) return now;
  }
  return {};
}

}  // namespace

std::string describe_stall(const Watched& rank, const char* call, double seconds,
                           const ReduceNow& reduce) {
  std::string text = "rank " + std::to_string(rank.rank) + " on " + rank.host + ": in " + call +
                     " for " + std::to_string(static_cast<long>(seconds)) + " s";
  if (reduce.act.kind == ReduceAct::Kind::none) return text;
  text += reduce.train_step > 0 ? ": step " + std::to_string(reduce.train_step) : ": warm-up";
  return text + ", bucket " + std::to_string(reduce.bucket) + ", " + reduce.act.phase + " step " +
         std::to_string(reduce.act.step) + peers(reduce.act);
}

Watchdog::Watchdog(Watched watched) : watched_(std::move(watched)) {
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string Watchdog::stall() const {
  const MpiCallNow call = mpi_call_now();
  const ReduceNow reduce = current(watched_.journals);
  if (call.name != nullptr && since(call.since) >= watched_.seconds) {
    return describe_stall(watched_, call.name, since(call.since), reduce);
  }
  if (reduce.act.kind == ReduceAct::Kind::add && since(reduce.since) >= watched_.seconds) {
    return describe_stall(watched_, "an addition", since(reduce.since), reduce);
  }
  return "";
}

void Watchdog::watch() {
  const Seconds interval = std::min(kMostBetweenLooks, Seconds(watched_.seconds / 4));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return stopping_; })) {
    const std::string text = stall();
    if (text.empty()) continue;
    std::fputs(("error: the ring is stuck. " + text +
                ". Look at the ranks that others wait for: one that says nothing has stopped. "
                "(--stall-seconds sets the limit)\n")
                   .c_str(),
               stderr);
    std::fflush(nullptr);
    changed_.wait_for(lock, kForTheOthers, [this] { return stopping_; });
    if (stopping_) return;
    std::_Exit(static_cast<int>(ExitCode::run_failed));
  }
}

}  // namespace rueda
