#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "rueda/train/gradient_sync.hpp"

namespace rueda {
namespace {

/// Two threads, one lock. The training thread opens a step and says when all is written; the
/// communication thread counts the buckets that it has summed. Whoever waits sleeps.
class OverlappedSync final : public GradientSync {
 public:
  OverlappedSync(const SyncParts& parts, TurnHooks turn)
      : GradientSync(parts), turn_(std::move(turn)), counts_(buckets()) {
    thread_ = std::thread([this] { communicate(); });
  }

  ~OverlappedSync() override {
    if (busy()) leave();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(std::size_t train_step, bool announced) override {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = backend().announced(i) + 1;
    turn_.give();
    {
      const std::lock_guard lock(mutex_);
      train_step_ = train_step;
      announced_ = announced;
      complete_ = false;
      summed_ = 0;
      open_ = true;
      starts_ = true;
    }
    changed_.notify_all();
  }

  void complete() override {
    if (!announced_) {
      ReduceDevice& device = backend().reduce_device();
      device.wait(device.record());
    }
    {
      const std::lock_guard lock(mutex_);
      complete_ = true;
      completed_at_ = std::chrono::steady_clock::now();
    }
    changed_.notify_all();
  }

  void wait(std::size_t bucket) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return summed_ > bucket || failure_; });
    if (summed_ <= bucket) std::rethrow_exception(failure_);
  }

  void end() override {
    turn_.take();
    open_ = false;
  }

  bool busy() const override {
    const std::lock_guard lock(mutex_);
    return open_ && !failure_;
  }

 private:
  void communicate() {
    while (starts()) {
      turn_.take();
      try {
        sum_all();
      } catch (...) {
        turn_.give();
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        changed_.notify_all();
        return;
      }
    }
  }

  /// Waits for the next step; false if there is none.
  bool starts() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return starts_ || stopping_; });
    return std::exchange(starts_, false);
  }

  void sum_all() {
    for (std::size_t i = 0; i < buckets(); ++i) {
      sum(train_step_, i, wait_until_ready(i));
      if (i + 1 == buckets()) turn_.give();  // before anybody can know that it was the last
      {
        const std::lock_guard lock(mutex_);
        summed_ = i + 1;
      }
      changed_.notify_all();
    }
  }

  SteadyTime wait_until_ready(std::size_t bucket) {
    if (announced_) return backend().wait_announced(bucket, counts_[bucket]);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return complete_; });
    return completed_at_;
  }

  /// The other thread may be inside MPI, and will never come out if this rank has failed: it can
  /// be neither joined nor left behind with what it works on. The launcher ends the other ranks.
  [[noreturn]] static void leave() {
    std::fputs("the training thread has ended inside a step; leaving\n", stderr);
    std::fflush(nullptr);
    std::_Exit(1);
  }

  const TurnHooks turn_;
  std::vector<std::uint64_t> counts_;  ///< of announcements at which each bucket is complete

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t train_step_ = 0;
  bool announced_ = false;  ///< this step's buckets are
  bool complete_ = false;
  SteadyTime completed_at_;
  std::size_t summed_ = 0;  ///< buckets of this step
  bool open_ = false;
  bool starts_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<GradientSync> make_overlapped_sync(const SyncParts& parts, TurnHooks turn) {
  return std::make_unique<OverlappedSync>(parts, std::move(turn));
}

}  // namespace rueda
