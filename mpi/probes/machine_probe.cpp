#include "mpi/probes/machine_probe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/statistics.hpp"
#include "reduce/reduce_journal.hpp"
#include "reduce/ring_plan.hpp"

namespace rueda {
namespace {

constexpr std::size_t kShortest = std::size_t{64} << 10;  // floats of a long message
constexpr double kTimesAsLong = 4;                        // as a message of one float
constexpr double kBatchSeconds = 1e-3;
// In a batch: so many that it hardly matters that ranks leave the barrier before it one after the
// other, on crowded cores within milliseconds.
constexpr double kFewestTimes = 4, kMostTimes = 16;
constexpr int kBatches = 5;
constexpr double kLongSeconds = 5e-3;  // from which on some single ones have to do
constexpr int kLongTimes = 2;
constexpr double kVeryLongSeconds = 0.1;
constexpr double kFullSeconds = 20e-3;  // of a message in which its beginning hardly counts
constexpr std::size_t kPairFloats = std::size_t{1} << 20;  // more than a kernel keeps of a message
constexpr double kPairSeconds = 0.5;                       // in which pairs exchange messages
constexpr double kPairTimes = 4, kPartners = 2;
// Over TCP Open MPI sends messages of fewer bytes at once, and asks the receiver before others.
// Floats of messages on both sides, and by which share of the shorter one's time the longer one
// takes at least longer than its bytes say: less may be chance.
constexpr double kAsksFrom = 65536;
constexpr std::size_t kAtOnce = 15360, kAsks = 17408;
constexpr double kLeastStep = 0.2;
constexpr double kLeastBeta = 1e-12;  // no link is faster; so a long message is never free

/// What is done again and again with so many floats.
using Work = std::function<void(std::size_t floats)>;

/// Of one float, and of so many that they take kTimesAsLong.
struct Points {
  cost::TimedSum once;
  cost::TimedSum longer;
};

struct MessageTimes : Points {
  cost::TimedSum longest;
};

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
    const Points additions = times_of([this](std::size_t floats) { add(floats); });
    const cost::Link addition = cost::link_through(additions.once, additions.longer);
    machine.gamma = addition.beta;
    // Of two messages of a sum one is added, for which a device is told to.
    launch_ = addition.alpha / 2;
    if (layout.most() > 1) {
      const auto ranks = place_.split(host_);
      machine.inside = link_inside(*ranks);
    }
    if (layout.hosts() > 1) measure_between(machine);
    return machine;
  }

 private:
  void measure_between(cost::Machine& machine) {
    const int fewest = place_.layout.fewest();
    // Who takes no part is alone in a group.
    const int alone = fewest + place_.world.rank();
    Points all;
    if (fewest > 1) {
      const auto ranks = place_.split(local_ < fewest ? local_ : alone);
      all = times_of([&](std::size_t floats) { exchange(*ranks, floats); });
    }
    const auto ranks = place_.split(local_ == 0 ? 0 : alone);
    machine.between = link_between(*ranks);
    machine.pair_factor = pair_factor(*ranks, machine.between);
    if (fewest > 1) share(machine, fewest, all);
  }

  /// How many of the `fewest` messages that ranks of each host send at once do not share a link.
  void share(cost::Machine& machine, int fewest, const Points& all) const {
    cost::Link& one = machine.between;
    const double alone = one.message_seconds(0);
    const double alpha = cost::link_through(all.once, all.longer).alpha;
    const double bytes = one.bytes_within(all.longer.seconds - alpha + alone);
    const double links = std::round(fewest * all.longer.bytes / bytes);
    machine.links_per_node = std::size_t(std::clamp<double>(links, 1, fewest));
    one = one.later_by(std::max(alpha + launch_ - alone, 0.0));
  }

  /// Over TCP both directions of a connection may disturb each other, and more than two hosts only
  /// use both where they work in pairs. A message counts as sent while up to 4 MB of it wait in the
  /// kernel, and what goes to the next partner takes half of the link from them. Those wait for
  /// the rest before they go on themselves, so links stand still. The mean counts: a sum has it.
  double pair_factor(Exchange& ranks, const cost::Link& link) {
    if (place_.layout.hosts() == 2) return 1;
    const std::size_t floats = std::max(longest_, std::min(kPairFloats, place_.most_floats));
    const Work work = [&](std::size_t n) { exchange_with_two(ranks, n); };
    work(1);  // opens connections
    const double first = max_over_ranks(place_.world, seconds_of_batch(floats, work, 1));
    const auto times = int(std::clamp<double>(kPairSeconds / std::max(first, 1e-9), 1, kPairTimes));
    const double batch = max_over_ranks(place_.world, seconds_of_batch(floats, work, times));
    const double bent = link.message_seconds(link.bend);
    const double beyond = link.message_seconds(double(floats) * sizeof(float)) - bent;
    return std::max((batch / kPartners + launch_ - bent) / beyond, 1.0);
  }

  MessageTimes message_times(Exchange& ranks) {
    const Work work = [&](std::size_t floats) { exchange(ranks, floats); };
    const Points times = times_of(work);
    cost::TimedSum longest = times.longer;
    longest_ = std::size_t(longest.bytes / sizeof(float));
    while (longest.seconds < kFullSeconds && longest_ < place_.most_floats) {
      longest_ *= 4;
      const double first = first_seconds(longest_, work);
      if (first < kFullSeconds && longest_ < place_.most_floats) continue;  // once tells that
      longest = {double(longest_) * sizeof(float), seconds_after(first, longest_, work)};
    }
    return {times, longest};
  }

  cost::TimedSum timed_message(Exchange& ranks, std::size_t floats) {
    const double seconds = seconds_of(floats, [&](std::size_t n) { exchange(ranks, n); });
    return {double(floats) * sizeof(float), seconds};
  }

  cost::Link link_inside(Exchange& ranks) {
    const MessageTimes times = message_times(ranks);
    return link_of(cost::link_through(times.once, times.longer, times.longest), times);
  }

  cost::Link link_between(Exchange& ranks) {
    const MessageTimes times = message_times(ranks);
    const cost::TimedSum below = timed_message(ranks, kAtOnce);
    const cost::TimedSum above = timed_message(ranks, kAsks);
    const cost::Link asks = cost::link_through(above, times.longer, times.longest);
    const double step = above.seconds - below.seconds - asks.beta * (above.bytes - below.bytes);
    if (step < kLeastStep * below.seconds)
      return link_of(cost::link_through(times.once, times.longer, times.longest), times);
    return link_of(asks.with_short(kAsksFrom, cost::link_through(times.once, below)), times);
  }

  /// The same with what a device adds to a message, and without costs that cannot be.
  cost::Link link_of(cost::Link link, const MessageTimes& times) const {
    link = link.later_by(launch_);
    for (double* beta : {&link.beta, &link.beta_beyond, &link.short_beta})
      *beta = std::max(*beta, kLeastBeta);
    if (std::isinf(link.bend)) {  // a straight line, which may bend in pairs
      link.bend = times.longest.bytes;
      link.beta_beyond = link.beta;
    }
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

  /// Two rounds of doubling or halving. Who is beyond the largest power of two is left over.
  void exchange_with_two(Exchange& ranks, std::size_t floats) {
    const int most = int(std::bit_floor(unsigned(ranks.size())));
    if (ranks.rank() >= most || most == 1) return;
    const auto memory = place_.device.scratch(2 * floats);
    for (const int distance : {1, std::min(2, most / 2)}) {
      const int peer = ranks.rank() ^ distance;
      ranks.sendrecv({memory.first(floats), peer}, {memory.subspan(floats, floats), peer}, unread_);
    }
  }

  void add(std::size_t floats) {
    const auto memory = place_.device.scratch(2 * floats);
    place_.device.add(memory.first(floats), memory.subspan(floats, floats));
    place_.device.wait(place_.device.record_own());
  }

  Points times_of(const Work& work) {
    const double once = seconds_of(1, work);
    std::size_t floats = kShortest;
    double longer = seconds_of(floats, work);
    while (longer < kTimesAsLong * once && floats < place_.most_floats) {
      floats *= 4;
      longer = seconds_of(floats, work);
    }
    const double float_bytes = sizeof(float);
    return {{float_bytes, once}, {double(floats) * float_bytes, longer}};
  }

  /// Collective: the slowest rank's.
  double seconds_of(std::size_t floats, const Work& work) {
    return seconds_after(first_seconds(floats, work), floats, work);
  }

  /// Once, after a time that opens connections and registers memory.
  double first_seconds(std::size_t floats, const Work& work) {
    work(floats);
    return max_over_ranks(place_.world, seconds_of_batch(floats, work, 1));
  }

  double seconds_after(double first, std::size_t floats, const Work& work) {
    if (first >= kLongSeconds) return least_seconds(floats, work, first);
    const auto times =
        int(std::clamp(kBatchSeconds / std::max(first, 1e-9), kFewestTimes, kMostTimes));
    std::vector<double> batches;
    for (int i = 0; i < kBatches; ++i) batches.push_back(seconds_of_batch(floats, work, times));
    return max_over_ranks(place_.world, median_of(batches));
  }

  /// Of some that take long, of which a busy core makes one longer; of one that takes very long.
  double least_seconds(std::size_t floats, const Work& work, double first) {
    double least = first;
    for (int i = 0; i < kLongTimes && first < kVeryLongSeconds; ++i)
      least = std::min(least, max_over_ranks(place_.world, seconds_of_batch(floats, work, 1)));
    return least;
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
  std::size_t longest_ = 0;  ///< floats of the longest message
  ReduceJournal unread_;
};

}  // namespace

cost::Machine measure_machine(const ProbePlace& place) { return MachineProbe(place).run(); }

}  // namespace rueda
