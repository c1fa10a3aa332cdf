#include "mpi/probes/machine_probe.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/statistics.hpp"
#include "reduce/reduce_journal.hpp"
#include "reduce/ring_plan.hpp"

namespace rueda {
namespace {

constexpr std::size_t kShortest = std::size_t{64} << 10;  // floats of a long message
constexpr std::size_t kLongest = std::size_t{4} << 20;
constexpr double kTimesAsLong = 4;  // as a message of one float
constexpr double kBatchSeconds = 1e-3;
constexpr double kMostTimes = 16;  // in a batch
constexpr int kBatches = 5;
constexpr double kLongSeconds = 5e-3;  // from which on one has to do
constexpr double kLeastBeta = 1e-12;   // no link is faster; so a long message is never free

/// What is done again and again with so many floats.
using Work = std::function<void(std::size_t floats)>;

class MachineProbe {
 public:
  explicit MachineProbe(const ProbePlace& place)
      : place_(place),
        host_(place.layout.host_of(place.world.rank())),
        local_(place.layout.local_rank_of(place.world.rank())) {}

  cost::Machine run() {
    const HostLayout& layout = place_.layout;
    cost::Machine machine;
    machine.ranks_per_node = std::size_t(layout.most());
    const cost::Link addition = link_of([this](std::size_t floats) { add(floats); });
    machine.gamma = addition.beta;
    // Of two messages of a sum one is added, for which a device is told to.
    launch_ = addition.alpha / 2;
    if (layout.most() > 1) machine.inside = message_cost(host_);
    if (layout.hosts() > 1) measure_between(machine);
    return machine;
  }

 private:
  void measure_between(cost::Machine& machine) {
    const int fewest = place_.layout.fewest();
    // Who takes no part is alone in a group.
    const int alone = fewest + place_.world.rank();
    const cost::Link all = message_cost(local_ < fewest ? local_ : alone);
    machine.between = all;
    if (fewest == 1) return;
    machine.between = message_cost(local_ == 0 ? 0 : alone);
    const double links = std::round(fewest * machine.between.beta / all.beta);
    machine.links_per_node = std::size_t(std::clamp<double>(links, 1, fewest));
    machine.between.alpha = std::max(machine.between.alpha, all.alpha);
  }

  cost::Link message_cost(int color) {
    const auto ranks = place_.split(color);
    cost::Link link = link_of([&](std::size_t floats) { exchange(*ranks, floats); });
    link.alpha += launch_;
    link.beta = std::max(link.beta, kLeastBeta);
    return link;
  }

  /// A step of a ring.
  void exchange(Exchange& ranks, std::size_t floats) {
    if (ranks.size() == 1) return;
    const RingPlan plan{0, ranks.rank(), ranks.size()};
    const auto memory = place_.device.scratch(2 * floats);
    ranks.sendrecv({memory.first(floats), plan.right()},
                   {memory.subspan(floats, floats), plan.left()}, unread_);
  }

  void add(std::size_t floats) {
    const auto memory = place_.device.scratch(2 * floats);
    place_.device.add(memory.first(floats), memory.subspan(floats, floats));
    place_.device.wait(place_.device.record_own());
  }

  cost::Link link_of(const Work& work) {
    const double once = seconds_of(1, work);
    std::size_t floats = kShortest;
    double longer = seconds_of(floats, work);
    while (longer < kTimesAsLong * once && floats < kLongest) {
      floats *= 4;
      longer = seconds_of(floats, work);
    }
    const double float_bytes = sizeof(float);
    return cost::link_through({float_bytes, once}, {double(floats) * float_bytes, longer});
  }

  /// Collective: the slowest rank's. The first time opens connections and registers memory.
  double seconds_of(std::size_t floats, const Work& work) {
    work(floats);
    const double first = max_over_ranks(place_.world, seconds_of_batch(floats, work, 1));
    const auto times = int(std::clamp(kBatchSeconds / std::max(first, 1e-9), 1.0, kMostTimes));
    const int count = first < kLongSeconds ? kBatches : 1;
    std::vector<double> batches;
    for (int i = 0; i < count; ++i) batches.push_back(seconds_of_batch(floats, work, times));
    return max_over_ranks(place_.world, median_of(batches));
  }

  double seconds_of_batch(std::size_t floats, const Work& work, int times) {
    place_.world.barrier();
    const double begin = place_.now();
    for (int i = 0; i < times; ++i) work(floats);
    return (place_.now() - begin) / times;
  }

  const ProbePlace& place_;
  int host_;
  int local_;  ///< of this rank on its host
  double launch_ = 0;
  ReduceJournal unread_;
};

}  // namespace

cost::Machine measure_machine(const ProbePlace& place) { return MachineProbe(place).run(); }

}  // namespace rueda
