#include "launch/stop_signals.hpp"

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/common.hpp"
#include "base/error.hpp"

namespace rueda::test {
namespace {

using namespace std::chrono_literals;

/// How a process ended that did `work`: its exit code, or 128 and the signal.
int end_of(const std::function<bool()>& work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Whether `signal`, sent to a process that listens, asks it to stop.
bool asks_to_stop(int signal) {
  listen_for_stop_signals();
  kill(getpid(), signal);
  for (int tries = 0; tries < 1000 && !stop_requested(); ++tries) std::this_thread::sleep_for(1ms);
  return stop_requested();
}

TEST_CASE("what asks a run to stop, and what does not end it", "[signals]") {
  for (const int signal : {SIGTERM, SIGUSR1, SIGHUP, SIGXCPU}) {
    CAPTURE(signal);
    CHECK(end_of([&] { return asks_to_stop(signal); }) == 0);
  }
  CHECK(end_of([] {  // as nohup starts it
          std::signal(SIGHUP, SIG_IGN);
          listen_for_stop_signals();
          kill(getpid(), SIGHUP);
          std::this_thread::sleep_for(20ms);
          return !stop_requested();
        }) == 0);
  const auto twice = [](int signal) {
    return [signal] {
      if (!asks_to_stop(signal)) return false;
      std::this_thread::sleep_for(1001ms);
      kill(getpid(), signal);
      std::this_thread::sleep_for(100ms);
      return true;
    };
  };
  CHECK(end_of(twice(SIGXCPU)) == 0);  // the system repeats it
  CHECK(end_of(twice(SIGHUP)) == 128 + SIGHUP);
}

TEST_CASE("a write beyond the limit of a file's size fails", "[signals]") {
  const ScratchDirectory scratch;
  const std::string file = scratch.path() / "file";
  const auto write_much = [&] {
    const rlimit limit{10, 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int out = open(file.c_str(), O_CREAT | O_WRONLY, 0600);
    return write(out, "0123456789", 10) == 10 && write(out, "more", 4) == -1 && errno == EFBIG;
  };
  CHECK(end_of(write_much) == 128 + SIGXFSZ);
  CHECK(end_of([&] {
          let_large_writes_fail();
          return write_much();
        }) == 0);
}

TEST_CASE("a signal ends a run that waits before its first step", "[signals]") {
  CHECK(end_of([] {
          alarm(60);
          listen_for_stop_signals(0);  // it looks once a second
          kill(getpid(), SIGTERM);
          while (true) pause();
          return false;
        }) == int(ExitCode::stopped));
}

TEST_CASE("a run that has begun its steps goes on to the end of one", "[signals]") {
  CHECK(end_of([] {
          listen_for_stop_signals(0);
          if (stop_requested()) return false;  // as the first step does
          kill(getpid(), SIGTERM);
          std::this_thread::sleep_for(1500ms);
          return stop_requested();
        }) == 0);
}

}  // namespace
}  // namespace rueda::test
