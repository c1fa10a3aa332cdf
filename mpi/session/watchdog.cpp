#include "mpi/session/watchdog.hpp"

#include <algorithm>
#include <array>
#include <atomic>
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

std::string reason(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "an unknown error";
  return {text.data(), std::size_t(length)};
}

std::string world_rank() {
  int rank = 0;
  if (!mpi_is_active() || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return "unknown";
  return std::to_string(rank);
}

// One process has one MPI, hence one turn. Nothing here owns anything of MPI's.
std::atomic<std::thread::id> owner{};
std::atomic<const char*> call_name{nullptr};
std::atomic<SteadyTime::rep> call_since{0};

constexpr double kMostBetweenLooks = 1;
// More than that between two looks: this process itself was stopped meanwhile.
constexpr double kOverslept = 2;
// The other ranks stall at about the same time, and look as often.
constexpr double kForTheOthers = 3;

}  // namespace

std::string place_of(const ReduceNow& now) {
  const auto& [kind, phase, step, to, from] = now.act;
  return fmt::format(": {}, bucket {}, {} step {}{}{}",
                     now.train_step > 0 ? fmt::format("step {}", now.train_step) : "warm-up",
                     now.bucket, phase, step, to >= 0 ? fmt::format(", sends to rank {}", to) : "",
                     from >= 0 ? fmt::format(", receives from rank {}", from) : "");
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw RunError(fmt::format(
      "{} failed on rank {}: {} (code {}); another rank may have ended, see the messages above",
      call, world_rank(), reason(code), code));
}

bool mpi_is_active() noexcept {
  int initialized = 0;
  int finalized = 0;
  return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 &&
         MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

void take_mpi_turn() {
  std::thread::id no_owner{};
  const std::thread::id me = std::this_thread::get_id();
  if (!owner.compare_exchange_strong(no_owner, me) && no_owner != me)
    throw RunError("a thread takes MPI while another one has it: a fault of this program");
}

void give_mpi_turn() noexcept { owner.store(std::thread::id{}); }

MpiCallNow mpi_call_now() noexcept {
  const char* const name = call_name.load(std::memory_order_acquire);
  return {name, SteadyTime(SteadyTime::duration(call_since.load(std::memory_order_relaxed)))};
}

MpiCall::MpiCall(const char* name) {
  if (owner.load() != std::this_thread::get_id()) {
    throw RunError(std::string(name) +
                   " is called by a thread that does not have the turn: a fault of this program");
  }
  call_since.store(SteadyClock::now().time_since_epoch().count(), std::memory_order_relaxed);
  call_name.store(name, std::memory_order_release);
}

MpiCall::~MpiCall() { call_name.store(nullptr, std::memory_order_relaxed); }

const char* stall_remedy(const Watched& rank) {
  if (rank.starts)
    return ". The ranks do not reach each other: rueda doctor, started in the same way, compares "
           "the networks of their hosts. (--stall-seconds sets the limit, at least 30 here)\n";
  return ". Look at the ranks that others wait for: one that prints nothing has stopped. "
         "(--stall-seconds sets the limit)\n";
}

std::string describe_stall(const Watched& rank, const char* call, double seconds,
                           const ReduceNow& reduce) {
  const bool in_sum = reduce.act.kind != ReduceAct::Kind::none;
  return fmt::format("{}. rank {} on {}: in {} for {} s{}",
                     in_sum ? "the ring is stuck" : "stuck outside the ring", rank.rank, rank.host,
                     call, long(seconds), in_sum ? place_of(reduce) : "");
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
  const double in_call = call.name != nullptr ? awake_since(call.since) : 0;
  if (in_call >= watched_.seconds) return describe_stall(watched_, call.name, in_call, reduce);
  // What waits without MPI: for an addition, or at a meeting in shared memory.
  const double in_act = reduce.act.kind != ReduceAct::Kind::none ? awake_since(reduce.since) : 0;
  if (in_act >= watched_.seconds) return describe_stall(watched_, "the sum", in_act, reduce);
  return "";
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
    std::fputs(harmless("rueda: " + text + stall_remedy(watched_)).c_str(), stderr);
    std::fflush(nullptr);
    if (stops_within(stop, kForTheOthers)) return;
    end_process("", ExitCode::run_failed);
  }
}

}  // namespace rueda
