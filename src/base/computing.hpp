#pragma once

#include "base/clock.hpp"

namespace rueda {

/// What this process computes, for a watchdog. It has one network at a time.
struct ComputingNow {
  const char* what = nullptr;  ///< for example "a training step"; null: nothing
  const char* part = nullptr;  ///< the part that was begun last, for example a layer; null: none
  SteadyTime since;            ///< when that part, or the whole, was begun
};
/// May be called by any thread. `part` may be read as long as it is current.
ComputingNow computing_now() noexcept;

/// From its beginning to its end this process computes `what`, a literal.
class Computing {
 public:
  explicit Computing(const char* what) noexcept;
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

  /// What is being computed has come to `part`, a text that stays until the end.
  static void reaches(const char* part) noexcept;
  /// A part of it is over, whatever that is: a message, for example.
  static void goes_on() noexcept;

 private:
  const char* before_;
};

}  // namespace rueda
