#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pickle.hpp"

namespace rueda {

/// The stack, the marks and the memo of a pickle being read. Values below the newest mark are out
/// of reach. Every misuse throws InputError with the offset set by `at`.
class PickleStack {
 public:
  explicit PickleStack(const Pickle& pickle) : pickle_(&pickle) {}

  /// Sets the offset that messages name.
  void at(std::size_t offset) noexcept { offset_ = offset; }

  void push(PickleRef ref);
  PickleRef top() const;
  PickleRef pop();
  /// Takes the newest `count` values off the stack, oldest first.
  std::vector<PickleRef> pop_many(std::size_t count);

  void mark();
  std::vector<PickleRef> pop_to_mark();

  /// Remembers the top value under a number: the given one, or the count of those so far.
  void memoize(std::uint64_t index);
  void memoize() { memoize(memoized_); }
  /// Pushes the value remembered under `index`.
  void recall(std::uint64_t index);

  bool clean() const noexcept { return stack_.empty() && marks_.empty(); }

 private:
  static constexpr PickleRef kNoRef = ~PickleRef{0};

  std::size_t reachable() const noexcept {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  [[noreturn]] void fail(const std::string& reason) const { pickle_->fail(offset_, reason); }

  const Pickle* pickle_;
  std::size_t offset_ = 0;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleRef> memo_;
  std::size_t memoized_ = 0;
};

}  // namespace rueda
