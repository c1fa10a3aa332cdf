#include "launch/stop_signals.hpp"

#include <csignal>
#include <functional>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace rueda;

namespace {

constexpr int kPatience = 0;  // it looks once a second

/// How a process ends that listens, is sent a SIGTERM and does `work`: as of waitpid(2).
int end_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    listen_for_stop_signals(kPatience);
    ::kill(::getpid(), SIGTERM);
    work();
    ::_exit(7);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

void wait_for_ever() {
  while (true) ::pause();
}

}  // namespace

TEST_CASE("a signal ends a run that waits before its first step", "[stop_signals]") {
  const int status = end_of(wait_for_ever);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("a run that asks for the signal goes on to the end of its step", "[stop_signals]") {
  const int status = end_of([] {
    while (!stop_requested()) ::usleep(1000);
    ::usleep(1'500'000);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}
