#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "reduce/host_sums.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "tests/standin/driver/memory.hpp"

namespace rueda::test {

/// What the devices of the tests have in common: memory of the host, and work of which each piece
/// goes through `queue`. Scratch memory is poisoned each time it is handed out, so a read of what
/// was never received ends in wrong sums.
class QueueingReduceDevice : public ReduceDevice {
 public:
  void add(std::span<float> into, std::span<const float> from) override {
    queue([=] {
      for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
    });
  }
  void copy(std::span<float> to, std::span<const float> from) override {
    queue([=] { std::copy(from.begin(), from.end(), to.begin()); });
  }
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from) override {
    queue([=] { narrow_part(to, from, 0, to.size()); });
  }
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override {
    queue([=] { add_narrow_part(into, from, 0, into.size()); });
  }
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override {
    queue([=] { widen_part(to, from, 0, to.size()); });
  }
  /// Device memory that lives as long as the device.
  std::span<float> allocate(std::size_t count) { return kept_.emplace_back(count); }
  std::shared_ptr<float[]> make_peer_block(std::size_t count, PeerHandle& handle) override {
    auto* block = static_cast<float*>(peers_->allocate(count * sizeof(float)));
    if (block == nullptr) throw RunError("no room in /dev/shm");
    const auto own = peers_->find(block)->handle();
    std::memcpy(handle.data(), &own, sizeof own);
    return released_by(peers_, block);
  }
  std::shared_ptr<float[]> map_peer_block(const PeerHandle& theirs) override {
    standin::DeviceMemory::Handle handle{};
    std::memcpy(&handle, theirs.data(), sizeof handle);
    auto* block = static_cast<float*>(peers_->open(handle));
    if (block == nullptr) throw RunError("there is no such block");
    return released_by(peers_, block);
  }
  std::span<float> scratch(std::size_t count) override { return poisoned(scratch_, count); }
  bool memory_is_on_host() const override { return false; }
  std::span<float> host_scratch(std::size_t count) override {
    return poisoned(host_scratch_, count);
  }
  /// The most that was asked for.
  std::size_t scratch_floats() const { return scratch_.size(); }
  /// Whether the device handed this address out as its own memory.
  bool owns(const void* pointer) const {
    const auto holds = [pointer](const std::vector<float>& block) {
      const auto* place = static_cast<const float*>(pointer);
      return std::less_equal<>()(block.data(), place) &&
             std::less<>()(place, block.data() + block.size());
    };
    return holds(scratch_) || std::any_of(kept_.begin(), kept_.end(), holds);
  }

 protected:
  using Task = std::function<void()>;
  virtual void queue(Task task) = 0;

 private:
  using Peers = std::shared_ptr<standin::DeviceMemory>;

  static std::shared_ptr<float[]> released_by(const Peers& peers, float* block) {
    return {block, [peers](float* memory) { peers->release(memory); }};
  }
  static std::span<float> poisoned(std::vector<float>& memory, std::size_t count) {
    if (count > memory.size()) memory.resize(count);
    std::fill(memory.begin(), memory.end(), std::numeric_limits<float>::quiet_NaN());
    return std::span(memory).first(count);
  }

  Peers peers_ = std::make_shared<standin::DeviceMemory>();
  std::deque<std::vector<float>> kept_;
  std::vector<float> scratch_;
  std::vector<float> host_scratch_;
};

/// All work done at once: the simplest device there is.
class HostReduceDevice final : public QueueingReduceDevice {
 public:
  Event record() override { return {}; }
  void wait(Event) override {}
  bool memory_is_on_host() const override { return true; }

 private:
  void queue(Task task) override { task(); }
};

/// A device as lazy as it may be: work is done only when an event after it is waited for. So a
/// missing record or wait ends in wrong sums.
class LazyReduceDevice final : public QueueingReduceDevice {
 public:
  Event record() override { return {queued_}; }
  void wait(Event event) override {
    for (; done_ < event.id; ++done_) {
      tasks_.front()();
      tasks_.pop_front();
    }
  }

 private:
  void queue(Task task) override {
    tasks_.push_back(std::move(task));
    ++queued_;
  }

  std::deque<Task> tasks_;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
};

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

  std::size_t staged_copies() const { return staged_copies_; }
  /// Events that were recorded and not waited for.
  std::size_t pending_events() {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  void copy(std::span<float> to, std::span<const float> from) override {
    if (owns(to.data()) != owns(from.data())) ++staged_copies_;
    QueueingReduceDevice::copy(to, from);
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
