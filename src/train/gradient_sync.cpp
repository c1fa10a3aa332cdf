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

AllReduce& GradientSync::all_reduce_of(std::size_t bucket) {
  const bool is_tail =
      bucket > 0 && this->bucket(bucket).begin >= parts_.replica.parameters().size();
  return is_tail ? parts_.tail_all_reduce : parts_.all_reduce;
}

std::vector<ReduceJournal*> GradientSync::journals() {
  std::vector<ReduceJournal*> all = {&parts_.all_reduce.journal()};
  if (&parts_.tail_all_reduce != &parts_.all_reduce) {
    all.push_back(&parts_.tail_all_reduce.journal());
  }
  return all;
}

void GradientSync::sum(std::size_t train_step, std::size_t index, Time ready) {
  AllReduce& all_reduce = all_reduce_of(index);
  const Range range = bucket(index);
  all_reduce.journal().at(train_step, index);
  const Time begin = std::chrono::steady_clock::now();
  const auto slice = parts_.replica.gradients().subspan(range.begin, range.size());
  // What the bucket needs has passed already: whoever calls has waited for it.
  backend().reduce_device().wait(all_reduce.sum(slice, {}));
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
