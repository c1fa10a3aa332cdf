#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/core_time.hpp"

namespace rueda {

/// The moments between the parts of a micro-batch's work on the device.
enum class Mark { load, forward, loss, backward, end };
inline constexpr std::size_t kMarks = 5;

/// Seconds that the device spent on the parts of one micro-batch.
struct ComputeSeconds {
  double load = 0;  ///< only what it did after the call that asked for it had returned
  double forward = 0;
  double loss = 0;
  double backward = 0;
};

/// When a device's work is done, in seconds, and what profilers show of it.
/// A device whose work is queued notes its own time, not that of the call.
class Clocks {
 public:
  virtual ~Clocks() = default;

  /// Notes the moment between two parts of a micro-batch's work. A recording keeps its marks.
  virtual void mark(Mark mark) = 0;
  /// Between the marks of the last micro-batch; waits until its work is done.
  virtual ComputeSeconds compute_seconds() = 0;

  /// Notes the moment at which all work so far is done. Not in a recording.
  virtual void tick() = 0;
  /// Seconds between each tick and the next; waits for the last one, and forgets all.
  virtual std::vector<double> take_ticks() = 0;
  /// Of the host's threads that compute, since some moment; unknown where a device does.
  virtual CoreTime core_time() { return {}; }

  /// A stretch of the host's time that profilers show under `name`; they lie in each other.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}
};

/// A stretch of the host's time that profilers show under a name, as long as a scope.
class NamedRange {
 public:
  NamedRange(Clocks& clocks, const std::string& name) : clocks_(clocks) {
    clocks_.begin_range(name.c_str());
  }
  ~NamedRange() { clocks_.end_range(); }
  NamedRange(const NamedRange&) = delete;

 private:
  Clocks& clocks_;
};

}  // namespace rueda
