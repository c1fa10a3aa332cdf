#include "schedule.hpp"

#include <chrono>

#include "rueda/core/random.hpp"

namespace rueda::timed {

double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent) {
  const double drawn = to_unit(random_bits(seed.seed, key_of("compute jitter"), seed.rank, number));
  return 1 + percent / 100 * (2 * drawn - 1);
}

void Schedule::work(double share, int images) {
  const double seconds =
      share * factor_ * compute_.seconds * images / static_cast<double>(compute_.images);
  due_ += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
  timepiece_.wait_until(due_);
}

void Schedule::mark(Mark mark) {
  const Time now = timepiece_.now();
  at_.at(static_cast<std::size_t>(mark)) = now;
  if (mark != Mark::forward) return;
  due_ = now;
  factor_ = jitter_factor(jitter_, ++micro_batches_, compute_.jitter_percent);
}

ComputeSeconds Schedule::seconds() const {
  return {0, between(Mark::forward, Mark::loss), between(Mark::loss, Mark::backward),
          between(Mark::backward, Mark::end)};
}

double Schedule::between(Mark from, Mark to) const {
  const auto span = at_[static_cast<std::size_t>(to)] - at_[static_cast<std::size_t>(from)];
  return std::chrono::duration<double>(span).count();
}

}  // namespace rueda::timed
