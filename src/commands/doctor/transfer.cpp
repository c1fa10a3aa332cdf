#include "transfer.hpp"

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include "child.hpp"
#include "mpi/probes/link_probe.hpp"
#include "rueda/core/error.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#endif

namespace rueda::doctor {
namespace {

using Kind = DoctorFault::Kind;
using End = TransferFacts::End;

constexpr std::size_t kSmallFloats = 1024 / sizeof(float);
constexpr std::size_t kLargeFloats = kPingPongBytes / sizeof(float);

std::unique_ptr<ExchangeBuffer> make_buffer(bool device) {
#if RUEDA_WITH_CUDA
  if (device) return make_device_exchange_buffer(kLargeFloats);
#else
  if (device) throw RunError("this build has no CUDA part");
#endif
  return std::make_unique<HostExchangeBuffer>(kLargeFloats);
}

void inject(Kind fault) {
  if (fault == Kind::crash_transfer) std::raise(SIGSEGV);
  if (fault == Kind::die_transfer) std::raise(SIGKILL);
  if (fault == Kind::end_transfer) std::raise(SIGTERM);
  while (fault == Kind::stall_transfer) pause();
}

void note(TransferFacts& facts, const PatternResult& result) {
  if (result.wrong == 0 || facts.end == End::wrong) return;
  facts.end = End::wrong;
  facts.detail = fmt::format("{} of {} elements, the first is number {}", result.wrong,
                             result.floats, result.first_wrong);
}

void exchange(Communicator& world, TransferFacts& facts, Kind injected) {
  const auto buffer = make_buffer(facts.device);
  facts.end = End::arrived;
  PatternResult small = pattern_ring(world, *buffer, kSmallFloats);
  if (injected == Kind::wrong_transfer) small = {small.floats, 1, small.floats / 2};
  note(facts, small);
  inject(injected);
  note(facts, pattern_ring(world, *buffer, kLargeFloats));
  if (!facts.device) return;
  const LinkSpeed speed = ping_pong(world, *buffer);
  facts.link = {speed.latency_us, speed.gb_per_second};
}

sigjmp_buf way_out;
volatile std::sig_atomic_t caught = 0;

extern "C" void leap(int signal) {
  caught = signal;
  siglongjmp(way_out, 1);
}

void on_signals(void (*handler)(int)) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, kEndTransfer}) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
  }
}

/// Runs `work`; returns 0, or the signal that ended it.
int survive(const std::function<void()>& work) {
  caught = 0;
  if (sigsetjmp(way_out, 1) == 0) {
    on_signals(leap);
    work();
  }
  on_signals(SIG_DFL);
  return caught;
}

}  // namespace

TransferFacts try_transfer(Communicator& world, bool device, DoctorFault::Kind injected) {
  TransferFacts facts{.device = device, .detail = {}, .link = {}};
  const int signal = survive([&] {
    try {
      exchange(world, facts, injected);
    } catch (const std::exception& error) {
      facts.end = End::failed;
      facts.detail = error.what();
    }
  });
  if (signal == 0) return facts;
  facts.end = end_by_signal(signal, false);
  facts.detail = facts.end == End::crashed ? signal_text(signal) : "";
  return facts;
}

}  // namespace rueda::doctor
