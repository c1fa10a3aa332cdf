// A switch with a known rate and delay: one TAP device in each network namespace, joined by this
// process. hosts.sh starts it.
//
//   wire BITS_PER_S DELAY_NS QUEUE_BYTES DEVICE NAMESPACE NAMESPACE...      BITS_PER_S 0: no limit
//
// Prints "ready" once the devices are there; SIGTERM or SIGINT ends it, with counters on stderr.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "switch.hpp"

namespace {

constexpr int kPriority = 10;  // above programs, so that their load does not bend the link

volatile int stopping = 0;

void end_by_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stopping = 1; };
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGTERM, SIGINT}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&ending, signal);
  }
  sigprocmask(SIG_BLOCK, &ending, nullptr);
}

/// Whether the system grants what it takes to keep time.
bool keep_time() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  mlockall(MCL_CURRENT | MCL_FUTURE);
  sched_param priority{};
  priority.sched_priority = kPriority;
  return sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 6) {
    std::fputs("usage: wire BITS_PER_S DELAY_NS QUEUE_BYTES DEVICE NAMESPACE NAMESPACE...\n",
               stderr);
    return 2;
  }
  try {
    rueda::lab::Switch network({std::stod(words[0]), std::stoll(words[1]), std::stoll(words[2])},
                               words[3], {words.begin() + 4, words.end()});
    end_by_signals();
    const bool real_time = keep_time();
    std::printf("ready%s\n", real_time ? "" : " (without real-time priority)");
    std::fflush(stdout);
    network.run(stopping);
    std::fputs(network.report().c_str(), stderr);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wire: %s\n", error.what());
    return 1;
  }
}
