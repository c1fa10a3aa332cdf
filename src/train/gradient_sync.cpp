#include "rueda/train/gradient_sync.hpp"

#include <chrono>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda {
GradientSync::GradientSync(const SyncParts& parts) : parts_(parts) {}

bool GradientSync::is_tail(std::size_t index) const {
  return index > 0 && bucket(index).begin >= parts_.replica.parameters().size();
}

void GradientSync::sum(std::size_t train_step, std::size_t index, SteadyTime ready) {
  AllReduce& all_reduce = parts_.all_reduce;
  const Range range = bucket(index);
  all_reduce.journal().at(train_step, index);
  const SteadyTime begin = std::chrono::steady_clock::now();
  const auto slice = parts_.replica.gradients().subspan(range.begin, range.size());
  // What the bucket needs has passed already: whoever calls has waited for it.
  const Event done = is_tail(index) ? all_reduce.sum_exactly(slice, {}) : all_reduce.sum(slice, {});
  backend().reduce_device().wait(done);
  const SteadyTime end = std::chrono::steady_clock::now();
  const ReduceTimes times = all_reduce.journal().take_times();
  BucketRecord record;
  record.bucket = static_cast<std::uint32_t>(index);
  record.ready = steady_seconds(ready);
  record.begin = steady_seconds(begin);
  record.end = steady_seconds(end);
  record.transfer = times.transfer;
  record.add = times.add;
  records_.push_back(record);
}

}  // namespace rueda
