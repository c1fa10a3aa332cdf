#include "base/waiting.hpp"

#include <condition_variable>
#include <mutex>

#include <sys/prctl.h>

namespace rueda {

void nap() {
  constexpr unsigned long kNanoseconds = 1;
  prctl(PR_SET_TIMERSLACK, kNanoseconds, 0UL, 0UL, 0UL);
  std::this_thread::sleep_for(kNap);
}

bool stops_within(const std::stop_token& stop, double seconds) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  return std::condition_variable_any().wait_for(lock, stop, std::chrono::duration<double>(seconds),
                                                [&stop] { return stop.stop_requested(); });
}

}  // namespace rueda
