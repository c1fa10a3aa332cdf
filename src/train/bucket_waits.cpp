#include "bucket_waits.hpp"

#include <algorithm>

namespace rueda {

double ClockFit::to_rank0(double time) const noexcept {
  const double span = last_time - first_time;
  const double part = span > 0 ? (time - first_time) / span : 0.0;
  return time + first.seconds + part * (last.seconds - first.seconds);
}

void book_waits(std::vector<std::vector<StepRecord>>& steps,
                std::vector<std::vector<BucketRecord>>& buckets,
                const std::vector<ClockFit>& clocks) {
  if (buckets.empty()) return;
  for (std::size_t i = 0; i < buckets.front().size(); ++i) {
    double latest = 0;
    for (std::size_t r = 0; r < buckets.size(); ++r) {
      latest = std::max(latest, clocks.at(r).to_rank0(buckets[r].at(i).begin));
    }
    for (std::size_t r = 0; r < buckets.size(); ++r) {
      BucketRecord& record = buckets[r][i];
      const double wait = latest - clocks[r].to_rank0(record.begin);
      record.wait = std::clamp(wait, 0.0, record.transfer);
      auto& mine = steps.at(r);
      mine.at(record.step - mine.at(0).step).all_reduce_wait += record.wait;
    }
  }
}

}  // namespace rueda
