#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/waiting.hpp"

namespace rueda {

/// That a backend can announce.
inline constexpr std::size_t kMostBuckets = 2048;

/// How a device tells a host's thread which buckets of gradients are complete,
/// while the rest of the backward pass still runs.
class Announcements {
 public:
  virtual ~Announcements() = default;

  /// Makes `announced` report that a bucket of gradients is complete once all
  /// work so far is done; below kMostBuckets. A recording keeps its
  /// announcements.
  virtual void announce(std::size_t bucket) = 0;
  /// How often `bucket` has been announced. Any thread may ask, at any time.
  virtual std::uint64_t announced(std::size_t bucket) const = 0;
  /// Blocks the calling thread until `bucket` has been announced at least
  /// `count` times. Returns when that happened: the moment of the announcement,
  /// or, from devices that do not tell it, the one at which it was seen.
  virtual SteadyTime wait_announced(std::size_t bucket, std::uint64_t count) const {
    const auto complete = [&] { return announced(bucket) >= count; };
    look_then_sleep(complete, [&] {
      while (!complete()) nap();  // a device cannot wake a thread
    });
    return SteadyClock::now();
  }
};

}  // namespace rueda
