#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace rueda::standin {

/// A point in a stream's work, reached once.
class Mark {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void reach() {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    time_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }

  bool reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
  }

  /// When it was reached.
  Time time() {
    const std::lock_guard lock(mutex_);
    return time_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  Time time_;
};

}  // namespace rueda::standin
