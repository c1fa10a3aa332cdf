#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <vector>

#include "handles.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda::cuda {

/// CUDA events behind the numbers that an all-reduce knows them by. Used again once they have been
/// waited for, so that a step creates none. Any thread may call, with the device set.
class EventPool {
 public:
  /// Passes when all work queued so far on each of `streams` is done.
  rueda::Event record(std::initializer_list<cudaStream_t> streams);
  /// Sleeps until `event` has passed, and gives it up: each is waited for by one thread, and
  /// waiting again returns at once.
  void wait(rueda::Event event);
  /// How many CUDA events there are.
  std::size_t size() const;

 private:
  using Parts = std::vector<Event>;  ///< one for each stream

  Event take();
  /// The parts of an event; none of one that was given up.
  std::vector<cudaEvent_t> parts_of(rueda::Event event) const;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Parts> pending_;
  Parts free_;
  std::uint64_t last_ = 0;
};

}  // namespace rueda::cuda
