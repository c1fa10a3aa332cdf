#include "fixed_order_all_reduce.hpp"

#include "fixed_reduce_scatter.hpp"
#include "ring_all_reduce.hpp"

namespace rueda {

std::size_t FixedOrderAllReduce::scratch_floats(std::size_t length) const {
  return fixed_scratch_floats(length, ranks_->size(), scratch_elements_);
}

Event FixedOrderAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  const RingPlan plan{slice.size(), ranks_->rank(), ranks_->size()};
  device_.wait(ready);
  fixed_reduce_scatter(*ranks_, device_, plan, slice, scratch_elements_, journal());
  ring_all_gather(*ranks_, plan, slice, journal());
  return {};
}

}  // namespace rueda
