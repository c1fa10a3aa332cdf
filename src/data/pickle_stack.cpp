#include "pickle_stack.hpp"

#include <fmt/format.h>

namespace rueda {

void PickleStack::push(PickleRef ref) {
  if (stack_.size() >= Pickle::kMaxValues) fail("the pickle nests too deeply");
  stack_.push_back(ref);
}

PickleRef PickleStack::top() const {
  if (reachable() == 0) fail("the pickle uses a value that it never made");
  return stack_.back();
}

PickleRef PickleStack::pop() {
  const PickleRef ref = top();
  stack_.pop_back();
  return ref;
}

std::vector<PickleRef> PickleStack::pop_many(std::size_t count) {
  if (reachable() < count) fail("the pickle uses a value that it never made");
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<PickleRef> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  return items;
}

void PickleStack::mark() {
  if (marks_.size() >= Pickle::kMaxValues) fail("the pickle nests too deeply");
  marks_.push_back(stack_.size());
}

std::vector<PickleRef> PickleStack::pop_to_mark() {
  if (marks_.empty()) fail("the pickle closes a group that it never opened");
  std::vector<PickleRef> items = pop_many(reachable());
  marks_.pop_back();
  return items;
}

void PickleStack::memoize(std::uint64_t index) {
  if (index >= Pickle::kMaxValues) fail(fmt::format("memo number {} is out of range", index));
  const auto i = static_cast<std::size_t>(index);
  if (i >= memo_.size()) memo_.resize(i + 1, kNoRef);
  memo_[i] = top();
  ++memoized_;
}

void PickleStack::recall(std::uint64_t index) {
  if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)] == kNoRef)
    fail(fmt::format("memo number {} was never set", index));
  push(memo_[static_cast<std::size_t>(index)]);
}

}  // namespace rueda
