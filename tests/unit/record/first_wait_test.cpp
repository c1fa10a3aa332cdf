// Who waited first in a step whose messages were held up: on records that ranks would leave which
// sum by the plans of rueda, message by message, on links of which some are cut or slow.
#include "record/first_wait.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "reduce/doubling_plan.hpp"
#include "reduce/halving_plan.hpp"
#include "reduce/pair_plan.hpp"

using namespace rueda;

namespace {

constexpr double kMessage = 0.01;  // seconds, on a good link
constexpr double kCompute = 0.1;   // of a step
constexpr std::uint32_t kSteps = 4;
constexpr std::size_t kStep = 3;  // in which something happens
constexpr double kLong = 2;       // seconds in messages

/// A message each way at most; -1: none.
struct Peers {
  int to = -1;
  int from = -1;
};
/// What each rank exchanges in a sum, in its order.
using Plans = std::vector<std::vector<Peers>>;

Plans ring_of(int ranks, int segments) {
  Plans plans;
  for (int rank = 0; rank < ranks; ++rank) {
    const Peers peers{(rank + 1) % ranks, (rank + ranks - 1) % ranks};
    plans.emplace_back((ranks - 1) * (segments + 1), peers);
  }
  return plans;
}

Plans pairs_of(int ranks, PairPlan (*plan)(int, int)) {
  Plans plans;
  for (int rank = 0; rank < ranks; ++rank) {
    auto& mine = plans.emplace_back();
    for (const PairStep& step : plan(rank, ranks).steps)
      mine.push_back({step.sent.empty() ? -1 : step.peer, step.received.empty() ? -1 : step.peer});
  }
  return plans;
}

/// Two hosts of two ranks, and a fifth one that hands its slice to rank 0.
Plans hierarchy() {
  Plans plans;
  for (int rank = 0; rank < 4; ++rank) {
    const int mate = rank ^ 1;
    const int across = rank ^ 2;
    plans.push_back({{mate, mate}, {across, across}, {across, across}, {mate, mate}});
  }
  plans[0].insert(plans[0].begin(), {-1, 4});
  plans[0].push_back({4, -1});
  plans.push_back({{0, -1}, {-1, 0}});
  return plans;
}

Plans star(int ranks) {
  Plans plans(1);
  for (int rank = 1; rank < ranks; ++rank) plans[0].push_back({-1, rank});
  for (int rank = 1; rank < ranks; ++rank) plans[0].push_back({rank, -1});
  for (int rank = 1; rank < ranks; ++rank) plans.push_back({{0, -1}, {-1, 0}});
  return plans;
}

/// What happens to a link, one way: for seconds from a moment on nothing passes; or each message
/// takes longer by some.
struct Link {
  int from = 0;
  int to = 0;
  double cut_at = -1;
  double cut = 0;
  double slow_at = -1;
  double slow = 0;
};

/// Ranks that sum over links.
struct Cluster {
  Plans plans;
  std::size_t buckets = 2;
  std::vector<Link> links = {};
  /// A send ends when it is received; otherwise at once.
  bool waits_for_receiver = false;
  /// Seconds for which a rank stands still before a bucket of step kStep, or adding in it.
  std::function<double(int rank, std::size_t bucket)> late = [](int, std::size_t) { return 0.0; };
  double adding = 0;  ///< of rank 1, in bucket 0 of kStep
  std::vector<ClockFit> clocks = {};
};

/// One rank on its way through the steps.
struct Walker {
  double now = 100;
  std::size_t step = 1, bucket = 0, next = 0;
  BucketRecord record;
  std::vector<BucketRecord> records;
  std::map<int, std::uint64_t> sent, received;
  bool begun = false;  ///< its current exchange
};

/// Moments by (from, to, number of the message).
using Moments = std::map<std::tuple<int, int, std::uint64_t>, double>;

class Walk {
 public:
  explicit Walk(const Cluster& cluster) : cluster_(cluster), walkers_(cluster.plans.size()) {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t rank = 0; rank < walkers_.size(); ++rank) goes_on |= go(int(rank));
    }
  }

  EpochRecord epoch() {
    EpochRecord epoch;
    epoch.clocks = cluster_.clocks;
    epoch.clocks.resize(walkers_.size());
    for (std::size_t rank = 0; rank < walkers_.size(); ++rank) {
      REQUIRE(walkers_[rank].step == kSteps + 1);
      const double shift = epoch.clocks[rank].first.seconds;
      for (BucketRecord& record : walkers_[rank].records) {
        record.begin -= shift;
        record.end -= shift;
        record.long_message.begin -= shift;
      }
      epoch.bucket_records.push_back(walkers_[rank].records);
    }
    return epoch;
  }

 private:
  /// As far as the messages of others allow.
  bool go(int rank) {
    Walker& mine = walkers_[std::size_t(rank)];
    bool moved = false;
    while (mine.step <= kSteps) {
      if (!mine.begun) begin(rank, mine);
      if (!can_end(rank, mine)) return moved;
      end(rank, mine);
      moved = true;
    }
    return moved;
  }

  const Peers& peers_of(int rank, const Walker& mine) const {
    return cluster_.plans[std::size_t(rank)][mine.next];
  }

  void begin(int rank, Walker& mine) {
    if (mine.next == 0) {
      if (mine.bucket == 0) mine.now += kCompute;
      if (mine.step == kStep) mine.now += cluster_.late(rank, mine.bucket);
      mine.record = {.epoch = 1,
                     .step = std::uint32_t(mine.step),
                     .bucket = std::uint32_t(mine.bucket),
                     .begin = mine.now};
    }
    if (rank == 1 && mine.step == kStep && mine.bucket == 0 && mine.next == 1) {
      mine.now += cluster_.adding;
      mine.record.add += cluster_.adding;
    }
    const auto [to, from] = peers_of(rank, mine);
    if (to >= 0) sends_[{rank, to, ++mine.sent[to]}] = mine.now;
    if (from >= 0) receives_[{from, rank, ++mine.received[from]}] = mine.now;
    mine.begun = true;
  }

  bool can_end(int rank, Walker& mine) {
    const auto [to, from] = peers_of(rank, mine);
    if (from >= 0 && !sends_.contains({from, rank, mine.received[from]})) return false;
    return to < 0 || !cluster_.waits_for_receiver || receives_.contains({rank, to, mine.sent[to]});
  }

  /// When the message is there.
  double arrival(int from, int to, std::uint64_t number) {
    const auto known = arrivals_.find({from, to, number});
    if (known != arrivals_.end()) return known->second;
    double leaves = sends_.at({from, to, number});
    if (cluster_.waits_for_receiver) leaves = std::max(leaves, receives_.at({from, to, number}));
    if (number > 1) leaves = std::max(leaves, arrival(from, to, number - 1) - kMessage);
    double there = leaves + kMessage;
    for (const Link& link : cluster_.links) {
      if (link.from != from || link.to != to) continue;
      const bool meets = there > link.cut_at && leaves < link.cut_at + link.cut;
      if (meets) there = link.cut_at + link.cut + kMessage;
      if (link.slow > 0 && leaves >= link.slow_at) there += link.slow;
    }
    return arrivals_[{from, to, number}] = there;
  }

  void end(int rank, Walker& mine) {
    const auto [to, from] = peers_of(rank, mine);
    TimedMessage message{.begin = mine.now, .to = to, .from = from};
    double end = mine.now;
    if (from >= 0) {
      message.received = mine.received[from];
      end = std::max(end, arrival(from, rank, message.received));
    }
    if (to >= 0) {
      message.sent = mine.sent[to];
      if (cluster_.waits_for_receiver) end = std::max(end, arrival(rank, to, message.sent));
    }
    message.seconds = end - mine.now;
    mine.record.transfer += message.seconds;
    mine.record.long_message.keep_longer(message);
    mine.now = end + kMessage / 100;
    mine.begun = false;
    if (++mine.next < cluster_.plans[std::size_t(rank)].size()) return;
    mine.next = 0;
    mine.record.end = mine.now;
    mine.records.push_back(mine.record);
    mine.bucket = (mine.bucket + 1) % cluster_.buckets;
    mine.step += mine.bucket == 0;
  }

  const Cluster& cluster_;
  std::vector<Walker> walkers_;
  Moments sends_, receives_, arrivals_;
};

EpochRecord epoch_of(const Cluster& cluster) { return Walk(cluster).epoch(); }

std::optional<FirstWait> found_in(const Cluster& cluster) {
  return first_wait(epoch_of(cluster), kStep, kLong);
}

/// When step kStep begins to sum, and when it has, without a fault.
std::pair<double, double> sum_of(const Cluster& cluster) {
  const EpochRecord epoch = epoch_of(cluster);
  double begin = INFINITY, end = 0;
  for (const auto& records : epoch.bucket_records) {
    for (const BucketRecord& record : records) {
      if (record.step != kStep) continue;
      begin = std::min(begin, record.begin);
      end = std::max(end, record.end);
    }
  }
  return {begin, end};
}

/// Links that the plans use.
std::vector<std::pair<int, int>> links_of(const Plans& plans) {
  std::vector<std::pair<int, int>> links;
  for (int rank = 0; std::size_t(rank) < plans.size(); ++rank)
    for (const Peers& peers : plans[std::size_t(rank)])
      if (peers.to >= 0) links.emplace_back(rank, peers.to);
  std::ranges::sort(links);
  const auto more = std::ranges::unique(links);
  links.erase(more.begin(), more.end());
  return links;
}

bool is_between(const FirstWait& wait, int from, int to) {
  const auto one = std::pair(int(wait.peer), int(wait.rank));
  return one == std::pair(from, to) || one == std::pair(to, from);
}

/// Cuts each link at many moments of a step's sum: where a wait is found, it is of that link, and
/// it is found unless nearly no rank noticed. Returns how many of the cuts were found.
double cut_everywhere(Cluster cluster, bool one_way) {
  const auto [begin, end] = sum_of(cluster);
  constexpr int kMoments = 12;
  int found = 0, cuts = 0;
  for (const auto& [from, to] : links_of(cluster.plans)) {
    for (int moment = 0; moment < kMoments; ++moment) {
      const double at = begin + (end - begin) * (moment + 0.37) / kMoments;
      cluster.links = {{.from = from, .to = to, .cut_at = at, .cut = 5}};
      const auto wait = found_in(cluster);
      ++cuts;
      if (!wait) continue;
      ++found;
      INFO("link from " << from << " to " << to << " cut at " << at - begin << ", found: rank "
                        << wait->rank << " for " << wait->peer << (wait->mutual ? ", mutual" : ""));
      CHECK(is_between(*wait, from, to));
      if (one_way) CHECK(int(wait->rank) == to);
      CHECK(wait->seconds > 4.5);
    }
  }
  return double(found) / cuts;
}

}  // namespace

TEST_CASE("of a ring whose link was cut, the rank behind that link waited first", "[status]") {
  const int ranks = GENERATE(2, 3, 4, 5);
  const bool waits = GENERATE(false, true);
  CAPTURE(ranks, waits);
  Cluster cluster{.plans = ring_of(ranks, 2), .waits_for_receiver = waits};
  // On two ranks both links are between the same two, which then wait for each other.
  CHECK(cut_everywhere(cluster, ranks > 2 || !waits) == 1);
}

TEST_CASE("where ranks meet in pairs, the pair of a cut link waited first", "[status]") {
  const int ranks = GENERATE(2, 3, 4, 5, 8);
  const bool waits = GENERATE(false, true);
  const auto plan = GENERATE(&doubling_plan, &halving_plan);
  CAPTURE(ranks, waits, plan == &doubling_plan);
  CHECK(cut_everywhere({.plans = pairs_of(ranks, plan), .waits_for_receiver = waits}, false) > 0.9);
}

TEST_CASE("of a hierarchy and a star, those of a cut link waited first", "[status]") {
  const bool waits = GENERATE(false, true);
  CAPTURE(waits);
  CHECK(cut_everywhere({.plans = hierarchy(), .waits_for_receiver = waits}, false) > 0.9);
  CHECK(cut_everywhere({.plans = star(4), .waits_for_receiver = waits}, false) > 0.9);
}

TEST_CASE("a link that is slow from some message on is found as a cut one is", "[status]") {
  const int ranks = GENERATE(3, 4, 5);
  const bool waits = GENERATE(false, true);
  CAPTURE(ranks, waits);
  Cluster cluster{.plans = ring_of(ranks, 2), .waits_for_receiver = waits};
  const double begin = sum_of(cluster).first;
  for (int to = 0; to < ranks; ++to) {
    const int from = (to + ranks - 1) % ranks;
    cluster.links = {{.from = from, .to = to, .slow_at = begin + 1.5 * kMessage, .slow = 0.5}};
    const auto wait = found_in(cluster);
    REQUIRE(wait);
    CHECK(int(wait->rank) == to);
    CHECK(int(wait->peer) == from);
    CHECK(wait->seconds == Approx(0.5).margin(0.1));
  }
}

TEST_CASE("a link that also delays the answers to messages the other way is found", "[status]") {
  // Rank 1's link to rank 2 is slow. What rank 0 sends to rank 1 waits for a word of rank 1 that
  // goes over the same cable.
  Cluster cluster{.plans = ring_of(4, 4), .waits_for_receiver = true};
  const double begin = sum_of(cluster).first;
  cluster.links = {{.from = 1, .to = 2, .slow_at = begin + 0.5 * kMessage, .slow = 0.5},
                   {.from = 0, .to = 1, .slow_at = begin + 1.5 * kMessage, .slow = 0.5}};
  const auto wait = found_in(cluster);
  REQUIRE(wait);
  CHECK(wait->rank == 2);
  CHECK(wait->peer == 1);
}

TEST_CASE("a host both of whose links were cut is one of the two that are named", "[status]") {
  const bool waits = GENERATE(false, true);
  Cluster cluster{.plans = ring_of(4, 2), .waits_for_receiver = waits};
  const double at = sum_of(cluster).first + 2.4 * kMessage;
  cluster.links = {{.from = 0, .to = 1, .cut_at = at, .cut = 5},
                   {.from = 1, .to = 2, .cut_at = at, .cut = 5}};
  const auto wait = found_in(cluster);
  REQUIRE(wait);
  CHECK((wait->rank == 1 || wait->peer == 1));
}

TEST_CASE("of three hosts one of which was cut off: determined if its links come back one by one",
          "[status]") {
  Cluster cluster{.plans = ring_of(3, 2), .waits_for_receiver = true};
  const double at = sum_of(cluster).first + 2.4 * kMessage;
  const auto found = [&](double first, double second) {
    cluster.links = {{.from = 0, .to = 1, .cut_at = at, .cut = first},
                     {.from = 1, .to = 2, .cut_at = at, .cut = second}};
    return found_in(cluster);
  };
  for (const auto& [first, second] : {std::pair(5.0, 6.0), std::pair(6.0, 5.0)}) {
    const auto wait = found(first, second);
    REQUIRE(wait);
    CHECK((wait->rank == 1 || wait->peer == 1));
  }
  CHECK_FALSE(found(5, 5));
}

TEST_CASE("two links that were cut at a time, apart from each other: not determined", "[status]") {
  const bool waits = GENERATE(false, true);
  Cluster cluster{.plans = ring_of(6, 2), .waits_for_receiver = waits};
  const double at = sum_of(cluster).first + 2.4 * kMessage;
  cluster.links = {{.from = 0, .to = 1, .cut_at = at, .cut = 5},
                   {.from = 3, .to = 4, .cut_at = at, .cut = 5}};
  CHECK_FALSE(found_in(cluster));
}

TEST_CASE("all links at a time, or none: not determined", "[status]") {
  Cluster cluster{.plans = ring_of(4, 2)};
  CHECK_FALSE(found_in(cluster));
  const double at = sum_of(cluster).first + 2.4 * kMessage;
  for (int rank = 0; rank < 4; ++rank)
    cluster.links.push_back({.from = rank, .to = (rank + 1) % 4, .cut_at = at, .cut = 5});
  cluster.waits_for_receiver = GENERATE(false, true);
  CHECK_FALSE(found_in(cluster));
}

TEST_CASE("a rank that came late to the sum, or added for long, is no link", "[status]") {
  const bool waits = GENERATE(false, true);
  const int ranks = GENERATE(2, 3, 4);
  CAPTURE(ranks, waits);
  for (const Plans& plans : {ring_of(ranks, 2), pairs_of(ranks, doubling_plan)}) {
    Cluster cluster{.plans = plans, .waits_for_receiver = waits};
    for (std::size_t bucket = 0; bucket < cluster.buckets; ++bucket) {
      cluster.late = [bucket](int rank, std::size_t of) {
        return rank == 1 && of == bucket ? 5.0 : 0.0;
      };
      CHECK_FALSE(found_in(cluster));
    }
  }
  CHECK_FALSE(found_in({.plans = ring_of(ranks, 2), .waits_for_receiver = waits, .adding = 5}));
}

TEST_CASE("clocks: an offset does not matter; an error does where no counts of messages tell more",
          "[status]") {
  const auto with_error = [](Cluster cluster, double error) {
    const double at = sum_of(cluster).first + 0.4 * kMessage;
    cluster.links = {{.from = 0, .to = 1, .cut_at = at, .cut = 5}};
    for (const double offset : {0.0, 100.0, -7.0, 3.0})
      cluster.clocks.push_back({.first = {offset, error}, .last = {offset, error}});
    return found_in(cluster);
  };
  for (const double error : {0.0, 1.0}) {
    const auto wait = with_error({.plans = ring_of(4, 2)}, error);
    REQUIRE(wait);
    CHECK(wait->rank == 1);
    CHECK(wait->peer == 0);
  }
  // Rank 3 waits for rank 1, which waited for rank 0: their ends are one message apart.
  const Cluster pairs{.plans = pairs_of(4, doubling_plan)};
  const auto wait = with_error(pairs, 0.49 * kMessage);
  REQUIRE(wait);
  CHECK(wait->rank == 1);
  CHECK(wait->peer == 0);
  CHECK_FALSE(with_error(pairs, 0.52 * kMessage));
}

TEST_CASE("ranks take part from `least` seconds in messages on", "[status]") {
  Cluster cluster{.plans = ring_of(4, 2)};
  const double at = sum_of(cluster).first + 2.4 * kMessage;
  cluster.links = {{.from = 1, .to = 2, .cut_at = at, .cut = 5}};
  const EpochRecord epoch = epoch_of(cluster);
  CHECK(first_wait(epoch, kStep, 4.9));
  CHECK_FALSE(first_wait(epoch, kStep, 5.3));
  // Waits behind the last messages of a step are of the next one.
  CHECK(first_wait(epoch, kStep - 1, 4.9));
  CHECK(first_wait(epoch, kStep + 1, 4.9));
  CHECK_FALSE(first_wait(epoch, kStep - 2, 4.9));
  CHECK_FALSE(first_wait({}, kStep, 1));
}
