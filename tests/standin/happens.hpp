#pragma once

#include <chrono>
#include <thread>

namespace rueda::test {

/// Whether `condition` comes to hold within `patience`. For what must come, and then comes at once;
/// and with little patience for what never does, so that a wrong one has the time to show.
template <typename Condition>
bool happens(const Condition& condition,
             std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + patience; Clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return condition();
}

inline constexpr std::chrono::milliseconds kMoment{50};

}  // namespace rueda::test
