#include "rueda/backend/backend.hpp"

#include <thread>

namespace rueda {
namespace {

// A device cannot wake a thread. Far below the time of a bucket on the wire, and rare enough to
// leave the core to others.
constexpr std::chrono::microseconds kLook{20};

}  // namespace

std::chrono::steady_clock::time_point Backend::wait_announced(std::size_t bucket,
                                                              std::uint64_t count) const {
  while (announced(bucket) < count) std::this_thread::sleep_for(kLook);
  return std::chrono::steady_clock::now();
}

}  // namespace rueda
