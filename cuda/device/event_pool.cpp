#include "event_pool.hpp"

#include <numeric>
#include <utility>

namespace rueda::cuda {

Event EventPool::take() {
  if (free_.empty()) return make_sleepy_event();
  Event event = std::move(free_.back());
  free_.pop_back();
  return event;
}

rueda::Event EventPool::record(std::initializer_list<cudaStream_t> streams) {
  const std::lock_guard lock(mutex_);
  Parts parts;
  for (const cudaStream_t stream : streams) {
    parts.push_back(take());
    check(cudaEventRecord(parts.back().get(), stream), "cudaEventRecord");
  }
  pending_.emplace(++last_, std::move(parts));
  return {last_};
}

std::vector<cudaEvent_t> EventPool::parts_of(rueda::Event event) const {
  const std::lock_guard lock(mutex_);
  std::vector<cudaEvent_t> raw;
  const auto found = pending_.find(event.id);
  if (found == pending_.end()) return raw;
  for (const Event& part : found->second) raw.push_back(part.get());
  return raw;
}

void EventPool::wait(rueda::Event event) {
  // Not under the lock: others record and wait meanwhile.
  for (const cudaEvent_t part : parts_of(event)) {
    check(cudaEventSynchronize(part), "cudaEventSynchronize");
  }
  const std::lock_guard lock(mutex_);
  auto node = pending_.extract(event.id);
  if (node.empty()) return;
  for (Event& part : node.mapped()) free_.push_back(std::move(part));
}

std::size_t EventPool::size() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(pending_.begin(), pending_.end(), free_.size(),
                         [](std::size_t sum, const auto& e) { return sum + e.second.size(); });
}

}  // namespace rueda::cuda
