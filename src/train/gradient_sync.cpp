#include "rueda/train/gradient_sync.hpp"

#include <chrono>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda {
namespace {

double seconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

GradientSync::GradientSync(const SyncParts& parts) : parts_(parts) {}

bool GradientSync::is_tail(std::size_t index) const {
  return index > 0 && bucket(index).begin >= parts_.replica.parameters().size();
}

void GradientSync::sum(std::size_t train_step, std::size_t index, Time ready) {
  AllReduce& all_reduce = parts_.all_reduce;
  const Range range = bucket(index);
  all_reduce.journal().at(train_step, index);
  const Time begin = std::chrono::steady_clock::now();
  const auto slice = parts_.replica.gradients().subspan(range.begin, range.size());
  // What the bucket needs has passed already: whoever calls has waited for it.
  const Event done = is_tail(index) ? all_reduce.sum_exactly(slice, {}) : all_reduce.sum(slice, {});
  backend().reduce_device().wait(done);
  const Time end = std::chrono::steady_clock::now();
  const ReduceTimes times = all_reduce.journal().take_times();
  BucketRecord record;
  record.bucket = static_cast<std::uint32_t>(index);
  record.ready = seconds(ready);
  record.begin = seconds(begin);
  record.end = seconds(end);
  record.transfer = times.transfer;
  record.add = times.add;
  records_.push_back(record);
}

}  // namespace rueda
