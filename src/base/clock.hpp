#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace rueda {

using SteadyClock = std::chrono::steady_clock;
using SteadyTime = SteadyClock::time_point;

inline double seconds_between(SteadyTime begin, SteadyTime end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const { return seconds_between(start_, SteadyClock::now()); }
  /// The same, and begins anew.
  double lap() {
    const SteadyTime begin = std::exchange(start_, SteadyClock::now());
    return seconds_between(begin, start_);
  }

 private:
  SteadyTime start_ = SteadyClock::now();
};

/// Seconds on this machine's steady clock, whose zero is its own.
inline double steady_seconds(SteadyTime time = SteadyClock::now()) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Seconds since 1970, UTC.
inline double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// Now, in UTC, as ISO 8601.
std::string utc_now();

}  // namespace rueda
