#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "all_reduce_cases.hpp"
#include "thread_exchange.hpp"
#include "thread_group.hpp"

namespace rueda::test {

/// Numbers of ranks with which a case runs: all powers of two and not, odd and even, to 15.
inline constexpr int kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15};
/// For what depends on them less, or takes many messages.
inline constexpr int kFewSizes[] = {1, 2, 3, 4, 5, 8};

/// What ranks found broken. Assertions are not thread-safe: ranks add, the main thread asserts.
class BrokenChecks {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (texts_.size() < kMost) texts_.push_back(text);
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  static constexpr std::size_t kMost = 20;  // all of a broken sum would be thousands
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

/// A rank of a case, with what it finds.
struct TestRank {
  ThreadGroup& group;
  BrokenChecks& broken;

  int rank() const { return group.rank(); }
  int size() const { return group.size(); }
  /// Where an all-reduce adds on `device`, which outlives it.
  Place place(ReduceDevice& device) const {
    ThreadGroup& ranks = group;
    return {ranks, device, [&ranks] { return std::make_unique<ThreadExchange>(ranks); },
            [&ranks](int color) { return std::make_unique<ThreadExchange>(ranks, color); }};
  }
};

/// Notes, on one rank, that `condition` is broken; the rest is as of fmt::format.
#define CHECK_ON_THREAD(on, condition, ...)                                              \
  do {                                                                                   \
    if (!(condition))                                                                    \
      (on).broken.add(fmt::format("line {}, rank {} of {}: {}: ", __LINE__, (on).rank(), \
                                  (on).size(), #condition) +                             \
                      fmt::format(__VA_ARGS__));                                         \
  } while (false)

/// Runs `body` on `size` ranks that are threads, and checks that none found anything broken.
inline void on_threads(int size, const std::function<void(TestRank&)>& body) {
  BrokenChecks broken;
  try {
    ThreadGroup::run(size, [&](ThreadGroup& group) {
      TestRank rank{group, broken};
      body(rank);
    });
  } catch (const std::exception& error) {
    broken.add(error.what());
  }
  CAPTURE(size);
  CHECK(broken.texts() == std::vector<std::string>{});
}

}  // namespace rueda::test
