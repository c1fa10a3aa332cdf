#include "base/computing.hpp"

#include <atomic>

namespace rueda {
namespace {

std::atomic<const char*> current{nullptr};
std::atomic<const char*> current_part{nullptr};
std::atomic<SteadyTime::rep> last_progress{0};

}  // namespace

ComputingNow computing_now() noexcept {
  const auto since = last_progress.load(std::memory_order_acquire);
  return {current.load(std::memory_order_relaxed), current_part.load(std::memory_order_relaxed),
          SteadyTime(SteadyTime::duration(since))};
}

Computing::Computing(const char* what) noexcept : before_(current.load()) {
  current.store(what);
  reaches(nullptr);
}

Computing::~Computing() {
  reaches(nullptr);
  current.store(before_);
}

void Computing::reaches(const char* part) noexcept {
  current_part.store(part, std::memory_order_relaxed);
  goes_on();
}

void Computing::goes_on() noexcept {
  last_progress.store(SteadyClock::now().time_since_epoch().count(), std::memory_order_release);
}

}  // namespace rueda
