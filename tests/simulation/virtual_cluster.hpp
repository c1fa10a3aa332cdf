#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include <ucontext.h>

namespace rueda::test {

/// Ranks of one process in virtual time: each is a fibre with a stack of its own, one runs at a
/// time, and a rank that waits costs nothing but its stack. Always the rank with the least time
/// goes on, so whatever ranks share is asked for in the order of time. Deterministic.
class VirtualCluster {
 public:
  explicit VirtualCluster(int ranks);
  VirtualCluster(const VirtualCluster&) = delete;
  VirtualCluster& operator=(const VirtualCluster&) = delete;

  /// Runs `body` once per rank, from time 0, and returns when all have ended. Throws what a rank
  /// threw first, and RunError where ranks wait for each other.
  void run(const std::function<void(int rank)>& body);
  int size() const noexcept { return int(ranks_.size()); }

  // Within `body`, about the rank that runs.

  double now() const { return ranks_[std::size_t(current_)].time; }
  /// Goes on at `time`, or now where that has passed.
  void wait_until(double time);
  void work(double seconds) { wait_until(now() + seconds); }
  /// Waits until another rank calls `wake` for this one.
  void park();
  /// `rank`, which is parked, goes on at `time` or later.
  void wake(int rank, double time);

 private:
  struct Rank {
    double time = 0;
    ucontext_t context{};
    std::shared_ptr<void> stack;
    bool ended = false;
  };
  using Turn = std::pair<double, int>;  ///< time and rank

  void start(int rank);
  void make_enter(ucontext_t& context);
  static void enter(unsigned high, unsigned low);
  void live();
  /// To whoever is next, or back to `run`.
  void leave();

  std::vector<Rank> ranks_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  ucontext_t home_{};
  int current_ = 0;
  const std::function<void(int)>* body_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace rueda::test
