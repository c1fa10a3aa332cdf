// The one main of the tests that run under mpiexec. All ranks run the same cases in the same order.
// Rank 0 reports as Catch2 does; the other ranks stay quiet unless a case fails there: then their
// report goes to stderr, each line with the rank in front. All ranks end with the same exit code.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <csignal>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

#include <catch2/catch.hpp>
#include <mpi.h>
#include <unistd.h>

#include "mpi/session/communicator.hpp"
#include "mpi/session/session.hpp"
#include "skipping_main.hpp"

namespace {

constexpr unsigned kStallSeconds = 240;  // each message waits for a core where others work

char stuck_case[512] = "";  // plain memory, because a signal handler reads it

extern "C" void report_stuck_case(int) {
  const auto ignored = write(STDERR_FILENO, stuck_case, std::string_view(stuck_case).size());
  static_cast<void>(ignored);
  _exit(1);  // mpiexec then ends the others
}

std::string this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return "rank " + std::to_string(rank);
}

/// A rank that leaves a case early leaves the others in a collective. Such a run must end: at once
/// if the rank was thrown out by an exception that no assertion expected, else after a while.
class HangGuard final : public Catch::TestEventListenerBase {
 public:
  using Catch::TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    name_ = info.name.substr(0, 300);
    const std::string text = this_rank() + " is stuck in '" + name_ + "', ending the job\n";
    text.copy(stuck_case, sizeof(stuck_case) - 1);
    stuck_case[text.size()] = '\0';
    std::signal(SIGALRM, report_stuck_case);
    alarm(kStallSeconds);
  }

  using Verdict = std::conditional_t < CATCH_VERSION_MAJOR<3, bool, void>;
  Verdict assertionEnded(const Catch::AssertionStats& stats) override {
    const auto& result = stats.assertionResult;
    if (result.getResultType() == Catch::ResultWas::ThrewException) {
      std::cerr << this_rank() + " left '" + name_ + "' by an exception: " << result.getMessage()
                << std::endl;
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return Verdict();
  }

  void testCaseEnded(const Catch::TestCaseStats&) override { alarm(0); }

 private:
  std::string name_;
};
CATCH_REGISTER_LISTENER(HangGuard)

/// Keeps what this process prints to std::cout until it is asked for.
class QuietOutput {
 public:
  QuietOutput() : original_(std::cout.rdbuf(kept_.rdbuf())) {}
  ~QuietOutput() { std::cout.rdbuf(original_); }
  QuietOutput(const QuietOutput&) = delete;
  QuietOutput& operator=(const QuietOutput&) = delete;

  void print_to_stderr(int rank) {
    std::string all;
    for (std::string line; std::getline(kept_, line);)
      all += "[rank " + std::to_string(rank) + "] " + line + '\n';
    std::cerr << all << std::flush;  // in one piece, so that ranks mix as little as possible
  }

 private:
  std::stringstream kept_;
  std::streambuf* original_;
};

int run_quietly(int rank, int argc, char** argv) {
  QuietOutput output;
  const int result = rueda::test::run_plainly(argc, argv);
  if (result != 0) output.print_to_stderr(rank);
  return result;
}

/// The line that ends the run, from rank 0; the worst result of all ranks, on each of them.
int agree_on_result(rueda::Communicator& world, int mine) {
  const auto all = rueda::all_gather(world, mine);
  std::string failed;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] != 0) failed += (failed.empty() ? "" : ", ") + std::to_string(r);
  if (world.rank() == 0)
    std::cout << world.size() << (world.size() == 1 ? " rank: " : " ranks: ")
              << (failed.empty() ? "passed" : "FAILED on rank " + failed) << std::endl;
  return failed.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  rueda::Session mpi(rueda::ThreadLevel::funneled);
  try {
    rueda::Communicator world;
    const int result = world.rank() == 0
                           ? rueda::test::run_plainly(argc, argv)  // mpiexec looks like a terminal
                           : run_quietly(world.rank(), argc, argv);
    return agree_on_result(world, result);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    mpi.abort(rueda::ExitCode::run_failed);
  }
}
