#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "base/clock.hpp"

// How a thread waits for a device, which works for microseconds or for a second.

namespace rueda {

/// So long a thread looks before it sleeps: about what it costs to fall asleep
/// and to be woken. Most of what a sum waits for ends sooner.
inline constexpr std::chrono::microseconds kLookTime{50};

/// How long `nap` sleeps: far below the time of a bucket on the wire, and rare
/// enough to leave the core to others.
inline constexpr std::chrono::microseconds kNap{20};

/// Returns once `done` holds. Looks at least once, then for kLookTime; between
/// two looks the core goes to whatever else wants it. Where that was too short
/// it calls `sleep`, which returns once `done` holds.
template <class Clock = SteadyClock, class Done, class Sleep>
void look_then_sleep(const Done& done, const Sleep& sleep) {
  const auto end = Clock::now() + kLookTime;
  while (!done()) {
    if (Clock::now() >= end) return sleep();
    std::this_thread::yield();
  }
}

/// Sleeps for kNap. Linux ends a sleep up to 50 us late, to end several at once;
/// not those of a thread that has napped.
void nap();

/// Sleeps for `seconds`, or until this thread is asked to stop. Returns whether it was.
bool stops_within(const std::stop_token& stop, double seconds);

}  // namespace rueda
