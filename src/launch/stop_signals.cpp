#include "launch/stop_signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/log.hpp"
#include "base/start_thread.hpp"

namespace rueda {
namespace {

std::atomic<long long> first_at{0};  // nanoseconds; 0: none has come
std::atomic<int> first_signal{0};
std::atomic<bool> asked{false};  // whether the run has come so far that it asks for signals
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
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (!first_at.compare_exchange_strong(first, now) && now - first >= kSecond) {
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
  std::signal(first_signal, SIG_DFL);
  std::raise(first_signal);
}

[[noreturn]] void take_signals(int patience) {
  while (!asked) {
    sleep(1);
    end_if_stuck(patience);
  }
  while (true) pause();
}

}  // namespace

/// Some of oneDNN's matrix products keep a buffer from the heap at the stack pointer, so that the
/// frame of a handler would overwrite what lies before it. So this thread, which computes, and
/// those that it starts block the signals. A thread that only sleeps takes them.
void listen_for_stop_signals(int patience) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigset_t signals = action.sa_mask;
  for (const int signal : {SIGTERM, SIGUSR1}) {
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
