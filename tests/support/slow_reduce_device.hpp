#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "host_reduce_device.hpp"

namespace rueda::test {

/// A device with a queue and a worker of its own, as a GPU has: work takes effect late, each piece
/// after a random delay, while the caller goes on. It knows its own memory from the host's, and
/// counts the copies between the two. Whoever reads memory without waiting reads what was there
/// before.
class SlowReduceDevice final : public ReduceDevice {
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
  std::span<float> allocate(std::size_t count) { return memory_.emplace_back(count); }
  bool owns(const void* pointer) const {
    const auto holds = [pointer](const std::vector<float>& block) {
      const auto* place = static_cast<const float*>(pointer);
      return std::less_equal<>()(block.data(), place) &&
             std::less<>()(place, block.data() + block.size());
    };
    return holds(scratch_) || std::any_of(memory_.begin(), memory_.end(), holds);
  }
  std::size_t staged_copies() const { return staged_copies_; }
  /// Events that were recorded and not waited for.
  std::size_t pending_events() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  void add(std::span<float> into, std::span<const float> from) override {
    queue([into, from] { add_now(into, from); });
  }
  void copy(std::span<float> to, std::span<const float> from) override {
    queue([to, from] { std::copy(from.begin(), from.end(), to.begin()); });
  }
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override {
    queue([=] { narrow_part(to, from, lost, 0, to.size()); });
  }
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override {
    queue([=] { add_narrow_part(into, from, 0, into.size()); });
  }
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override {
    queue([=] { widen_part(to, from, 0, to.size()); });
  }
  std::span<float> keep(std::size_t count) override { return allocate(count); }
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
  std::span<float> scratch(std::size_t count) override { return poisoned(scratch_, count); }
  bool memory_is_on_host() const override { return false; }
  std::span<float> host_scratch(std::size_t count) override {
    return poisoned(host_scratch_, count);
  }

 private:
  using Task = std::function<void()>;

  static std::span<float> poisoned(std::vector<float>& memory, std::size_t count) {
    if (count > memory.size()) memory.resize(count);
    std::fill(memory.begin(), memory.end(), std::numeric_limits<float>::quiet_NaN());
    return std::span(memory).first(count);
  }

  void queue(Task task) {
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
  std::deque<std::vector<float>> memory_;
  std::vector<float> scratch_;
  std::vector<float> host_scratch_;
  std::minstd_rand random_;
  std::thread worker_;
};

}  // namespace rueda::test
