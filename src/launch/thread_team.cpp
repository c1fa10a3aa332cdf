#include "launch/thread_team.hpp"

#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/start_thread.hpp"
#include "base/text.hpp"
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace rueda {
namespace {

#if defined(_OPENMP)
/// OpenMP ends the process without a word of ours where a thread cannot be
/// started, so they are started here before, all at once.
void try_threads(int count) {
  std::latch done(1);
  std::vector<std::jthread> team;
  // However this is left, no thread waits for ever: it is joined when `team` goes.
  struct Release {
    std::latch& latch;
    ~Release() { latch.count_down(); }
  } const release{done};
  for (int i = 0; i < count; ++i)
    team.push_back(make_thread("a team of OpenMP", [&done] { done.wait(); }));
}
#endif

}  // namespace

int settle_team(int wanted) {
#if defined(_OPENMP)
  thread_local int there = 1;  // between regions OpenMP keeps the threads of a team
  try_threads(wanted - there);
  omp_set_dynamic(0);
  omp_set_max_active_levels(std::max(1, omp_get_max_active_levels()));
  omp_set_num_threads(wanted);
  int got = 0;
#pragma omp parallel reduction(+ : got)
  got += 1;
  omp_set_num_threads(got);
  there = got;
  return got;
#else
  return wanted;
#endif
}

std::string team_shortage(int wanted, int got, const Environment& environment) {
  if (got >= wanted) return "";
  std::string why = "for a reason that no variable of its tells";
  for (const char* name : kTeamLimits) {
    const std::string value = variable_text(environment, name);
    if (!value.empty())
      why = fmt::format("because {}={} is set: unset it for more", name, printable(value));
  }
  return fmt::format("OpenMP gives a parallel region {} of {} threads, {}", got, wanted, why);
}

void require_team(int threads) {
  const int got = settle_team(threads);
  require(got == threads, fmt::format("{}; or give --threads {}",
                                      team_shortage(threads, got, environment_variable), got));
}

}  // namespace rueda
