#pragma once

#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "rueda/reduce/rank_group.hpp"

namespace rueda::test {

/// Ranks as threads of one process, to test what stands on RankGroup without a launcher.
class ThreadGroup : public RankGroup {
 public:
  /// A group of one.
  ThreadGroup() : ThreadGroup(std::make_shared<Shared>(1), 0) {}

  /// Runs `body` once per rank, each in its own thread, and returns when all have ended. Assertions
  /// are not thread-safe: bodies store what they saw, and the caller asserts.
  static void run(int size, const std::function<void(ThreadGroup&)>& body) {
    const auto shared = std::make_shared<Shared>(size);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&shared, &body, rank] {
        ThreadGroup group(shared, rank);
        body(group);
      });
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return int(shared_->boxes.size()); }
  void barrier() override { shared_->meeting.arrive_and_wait(); }
  void broadcast(std::span<std::byte> data, int root) override {
    const auto all = all_gather(data);
    const auto& from = all[std::size_t(root)];
    std::copy(from.begin(), from.end(), data.begin());
  }
  std::vector<Bytes> all_gather(std::span<const std::byte> mine) override {
    shared_->boxes[std::size_t(rank_)].assign(mine.begin(), mine.end());
    barrier();
    auto all = shared_->boxes;
    barrier();  // no rank refills a box that another still reads
    return all;
  }
  std::vector<Bytes> gather(std::span<const std::byte> mine, int root) override {
    auto all = all_gather(mine);
    return rank_ == root ? all : std::vector<Bytes>{};
  }

 private:
  struct Shared {
    explicit Shared(int size) : meeting(size), boxes(std::size_t(size)) {}
    std::barrier<> meeting;
    std::vector<Bytes> boxes;
  };

  ThreadGroup(std::shared_ptr<Shared> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}

  std::shared_ptr<Shared> shared_;
  int rank_;
};

}  // namespace rueda::test
