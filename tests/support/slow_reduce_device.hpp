#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "host_reduce_device.hpp"

namespace rueda::test {

/// A device with a queue and a worker of its own, as a GPU has: work takes effect late, each piece
/// after a random delay, while the caller goes on. It knows its own memory from the host's, and
/// counts the copies between the two. Who reads memory without waiting reads what was there
/// before.
class SlowReduceDevice final : public QueueingReduceDevice {
 public:
  explicit SlowReduceDevice(unsigned seed) : random_(seed), worker_([this] { work(); }) {}
  ~SlowReduceDevice() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  /// Device memory that lives as long as the device.
  std::span<float> allocate(std::size_t count) { return keep(count); }
  std::size_t staged_copies() const { return staged_copies_; }
  /// Events that were recorded and not waited for.
  std::size_t pending_events() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  void to_host(std::span<float> host, std::span<const float> device) override {
    ++staged_copies_;
    copy(host, device);
  }
  void from_host(std::span<float> device, std::span<const float> host) override {
    ++staged_copies_;
    copy(device, host);
  }
  Event record() override {
    const std::lock_guard lock(mutex_);
    events_[++last_event_] = queued_;
    return {last_event_};
  }
  void wait(Event event) override {
    std::unique_lock lock(mutex_);
    const auto found = events_.find(event.id);
    if (found == events_.end()) return;
    changed_.wait(lock, [&] { return done_ >= found->second; });
    events_.erase(found);
  }

 private:
  void queue(Task task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      ++queued_;
    }
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
      task();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::map<std::uint64_t, std::uint64_t> events_;  ///< event to the work before it
  std::uint64_t last_event_ = 0;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
  bool ends_ = false;
  std::size_t staged_copies_ = 0;
  std::minstd_rand random_;
  std::thread worker_;
};

}  // namespace rueda::test
