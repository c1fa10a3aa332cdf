#include "launch/stop_signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"

namespace rueda {
namespace {

std::atomic<long long> first_at{0};  // nanoseconds; 0: none has come
std::atomic<bool> asked{false};      // whether the run has come so far that it asks for signals
static_assert(std::atomic<long long>::is_always_lock_free, "a signal handler writes it");

constexpr long long kSecond = 1'000'000'000;

long long nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

extern "C" void note_signal(int signal) {
  const int before = errno;
  const long long now = nanoseconds();
  long long first = 0;
  const bool another = !first_at.compare_exchange_strong(first, now) && signal != SIGXCPU;
  if (another && now - first >= kSecond) {
    // Arrives after this handler, when the process does not listen any more.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  errno = before;
}

/// Ends a process that was asked to stop, and whose first step does not begin: what it waits for
/// may never come.
void end_if_stuck(int patience) {
  const long long first = first_at.load();
  if (first == 0 || nanoseconds() - first < patience * kSecond) return;
  print_error(
      fmt::format("a signal asked the run to stop, and its first step has not begun {} s "
                  "later: it ends now",
                  patience));
  _exit(int(ExitCode::stopped));  // the thread that waits has all that an orderly end would need
}

[[noreturn]] void take_signals(int patience) {
  while (!asked) {
    sleep(1);
    if (!asked) end_if_stuck(patience);  // the first step may have begun meanwhile
  }
  while (true) pause();
}

/// Whoever started the program may have said so, as nohup does.
bool is_ignored(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

}  // namespace

void let_large_writes_fail() { std::signal(SIGXFSZ, SIG_IGN); }

/// Some of oneDNN's matrix products keep a buffer from the heap at the stack pointer, so that the
/// frame of a handler would overwrite what lies before it. So this thread, which computes, and
/// those that it starts block the signals. A thread that only sleeps takes them.
void listen_for_stop_signals(int patience) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigset_t signals = action.sa_mask;
  for (const int signal : {SIGTERM, SIGUSR1, SIGHUP, SIGXCPU}) {
    if (signal == SIGHUP && is_ignored(signal)) continue;
    sigaction(signal, &action, nullptr);
    sigaddset(&signals, signal);
  }
  start_thread("signals", [patience] { return std::thread(take_signals, patience); }).detach();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool stop_requested() {
  asked = true;
  return first_at.load() != 0;
}

}  // namespace rueda
