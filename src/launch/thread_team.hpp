#pragma once

#include <array>
#include <string>

#include "launch/launcher.hpp"

namespace rueda {

/// Variables by which OpenMP, or LLVM's and Intel's libraries, give a region fewer threads.
inline constexpr std::array kTeamLimits = {"OMP_THREAD_LIMIT", "KMP_DEVICE_THREAD_LIMIT",
                                           "KMP_ALL_THREADS", "KMP_MAX_THREADS"};

/// Threads that a parallel region of OpenMP really has in this process where
/// `wanted` are asked for: a region is opened, and they are counted. The
/// calling thread's regions ask for as many from then on, and OpenMP no longer
/// changes their number by itself (OMP_DYNAMIC, OMP_MAX_ACTIVE_LEVELS). Without
/// OpenMP: `wanted`. Throws RunError where the system starts fewer threads.
int settle_team(int wanted);

/// "OpenMP gives a parallel region 1 of 2 threads, because OMP_THREAD_LIMIT=1 is
/// set: unset it for more": where a region `got` fewer than were `wanted`, and
/// why by the environment. Empty where it got them all.
std::string team_shortage(int wanted, int got, const Environment& environment);

/// Settles a team for work that is planned for `threads`: oneDNN leaves undone
/// what a missing thread was to do. Throws InputError where a region has fewer.
void require_team(int threads);

}  // namespace rueda
