#pragma once

#include <chrono>
#include <thread>

namespace rueda::timed {

using Time = std::chrono::steady_clock::time_point;

/// Where time comes from: the machine's, or a test's.
class Timepiece {
 public:
  virtual ~Timepiece() = default;
  virtual Time now() = 0;
  /// Returns at once if `moment` has passed.
  virtual void wait_until(Time moment) = 0;
};

/// Sleeps, so that more ranks than cores can wait at the same time.
class SteadyTimepiece final : public Timepiece {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
  void wait_until(Time moment) override { std::this_thread::sleep_until(moment); }
};

}  // namespace rueda::timed
