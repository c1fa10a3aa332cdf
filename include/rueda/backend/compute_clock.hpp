#pragma once

#include <array>
#include <chrono>
#include <cstddef>

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

/// Marks of a device whose work is done when a call returns.
class HostMarks {
 public:
  using Clock = std::chrono::steady_clock;

  void set(Mark mark, Clock::time_point now = Clock::now()) { at_[index(mark)] = now; }
  ComputeSeconds seconds() const {
    return {0, between(Mark::forward, Mark::loss), between(Mark::loss, Mark::backward),
            between(Mark::backward, Mark::end)};
  }

 private:
  static std::size_t index(Mark mark) { return std::size_t(mark); }
  double between(Mark from, Mark to) const {
    return std::chrono::duration<double>(at_[index(to)] - at_[index(from)]).count();
  }
  std::array<Clock::time_point, kMarks> at_{};
};

}  // namespace rueda
