#include "rueda/core/waiting.hpp"

#include <sys/prctl.h>

namespace rueda {

void nap() {
  constexpr unsigned long kNanoseconds = 1;
  prctl(PR_SET_TIMERSLACK, kNanoseconds, 0UL, 0UL, 0UL);
  std::this_thread::sleep_for(kNap);
}

}  // namespace rueda
