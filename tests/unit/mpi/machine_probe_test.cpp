// What is measured of messages and additions that take stated times.
#include "mpi/probes/machine_probe.hpp"

#include "tests/support/stated_time.hpp"
#include "tests/support/thread_cases.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr double kUs = 1e-6;

/// Messages of the ranks of one call of `split`, all of which cost the same.
struct StatedLinks {
  std::vector<cost::Link> of_call;  ///< in the order of the calls
  double pair_factor = 1;           ///< of the bytes beyond the bend between two ranks
  bool if_changed = false;          ///< only where a rank's partner is another one than before
  std::size_t calls = 0;
};

/// Messages of a stated cost, on a clock that others share.
class LinkExchange final : public OuterExchange {
 public:
  LinkExchange(ExchangePtr inner, StatedClock& clock, const cost::Link& link,
               const StatedLinks& links)
      : OuterExchange(std::move(inner)), clock_(clock), link_(link), links_(links) {}
  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override {
    OuterExchange::sendrecv(send, receive, journal);
    const bool is_slow =
        send.to == receive.from && !(links_.if_changed && std::exchange(last_, send.to) == send.to);
    const cost::Link link = link_.slower_beyond(is_slow ? links_.pair_factor : 1);
    clock_.spend(link.message_seconds(double(receive.floats.size_bytes())));
  }

 private:
  StatedClock& clock_;
  cost::Link link_;
  const StatedLinks& links_;
  int last_ = -1;  ///< partner
};

/// On hosts of which `host_of` says which rank is on which.
cost::Machine measured(TestRank& on, const StatedTimes& times, StatedLinks links,
                       const std::function<int(int)>& host_of) {
  std::vector<int> hosts;
  for (int rank = 0; rank < on.size(); ++rank) hosts.push_back(host_of(rank));
  const HostLayout layout(hosts);
  StatedClock clock(times);
  StatedReduceDevice device(clock);
  const Place place = on.place(device);
  return measure_machine({.world = on.group,
                          .device = device,
                          .layout = layout,
                          .split = [&](int color) -> ExchangePtr {
                            const cost::Link link = links.of_call.at(links.calls++);
                            return std::make_unique<LinkExchange>(place.split(color), clock, link,
                                                                  links);
                          },
                          .now = [&] { return clock.now(); },
                          .most_floats = std::size_t{1} << 18});
}

bool is_near(double value, double expected) { return std::abs(value - expected) < 1e-6 * expected; }

TEST_CASE("costs inside hosts, between them, and of their links", "[probe]") {
  // Four ranks of a host share two links: a message takes twice as long by its bytes.
  const StatedLinks links{{{2 * kUs, 0.02e-9}, {25 * kUs, 0.2e-9}, {20 * kUs, 0.1e-9}}};
  on_threads(8, [&](TestRank& on) {
    const auto machine =
        measured(on, {.message = {}, .add_byte = 0.1e-9}, links, [](int r) { return r / 4; });
    CHECK_ON_THREAD(on, is_near(machine.inside.alpha, 2 * kUs), "{}", machine.inside.alpha);
    CHECK_ON_THREAD(on, is_near(machine.inside.beta, 0.02e-9), "{}", machine.inside.beta);
    CHECK_ON_THREAD(on, is_near(machine.between.alpha, 25 * kUs), "{}", machine.between.alpha);
    CHECK_ON_THREAD(on, is_near(machine.between.beta, 0.1e-9), "{}", machine.between.beta);
    CHECK_ON_THREAD(on, is_near(machine.gamma, 0.1e-9), "{}", machine.gamma);
    CHECK_ON_THREAD(on, machine.ranks_per_node == 4, "{}", machine.ranks_per_node);
    CHECK_ON_THREAD(on, machine.links_per_node == 2, "{}", machine.links_per_node);
  });
}

TEST_CASE("hosts of one rank have no links inside, one host none between", "[probe]") {
  const StatedLinks links{{{20 * kUs, 0.1e-9}}};
  for (const int size : {2, 3, 5}) {
    on_threads(size, [&](TestRank& on) {
      const auto apart =
          measured(on, {.message = {}, .add_byte = 1e-9}, links, [](int rank) { return rank; });
      CHECK_ON_THREAD(on, is_near(apart.between.beta, 0.1e-9), "{}", apart.between.beta);
      CHECK_ON_THREAD(on, apart.inside.alpha == 0, "{}", apart.inside.alpha);
      CHECK_ON_THREAD(on, apart.ranks_per_node == 1, "{}", apart.ranks_per_node);
      const auto together =
          measured(on, {.message = {}, .add_byte = 1e-9}, links, [](int) { return 0; });
      CHECK_ON_THREAD(on, is_near(together.inside.beta, 0.1e-9), "{}", together.inside.beta);
      CHECK_ON_THREAD(on, together.between.alpha == 0, "{}", together.between.alpha);
      CHECK_ON_THREAD(on, together.ranks_per_node == std::size_t(on.size()), "{}", on.size());
    });
  }
}

TEST_CASE("a host with more ranks than others lets them wait", "[probe]") {
  const StatedLinks links{{{2 * kUs, 0.02e-9}, {20 * kUs, 0.1e-9}, {20 * kUs, 0.1e-9}}};
  on_threads(5, [&](TestRank& on) {
    const auto machine = measured(on, {}, links, [](int rank) { return rank < 2 ? 0 : 1; });
    CHECK_ON_THREAD(on, machine.ranks_per_node == 3, "{}", machine.ranks_per_node);
    CHECK_ON_THREAD(on, machine.links_per_node == 2, "{}", machine.links_per_node);
    CHECK_ON_THREAD(on, is_near(machine.between.alpha, 20 * kUs), "{}", machine.between.alpha);
  });
}

TEST_CASE("what a device needs to begin an addition belongs to its messages", "[probe]") {
  const StatedLinks links{{{30 * kUs, 1 / 200e9}}};
  on_threads(4, [&](TestRank& on) {
    const StatedTimes times{.message = {}, .add_byte = 1 / 900e9, .launch = 10 * kUs};
    const auto machine = measured(on, times, links, [](int) { return 0; });
    CHECK_ON_THREAD(on, is_near(machine.inside.alpha, 35 * kUs), "{}", machine.inside.alpha);
    CHECK_ON_THREAD(on, is_near(machine.inside.beta, 1 / 200e9), "{}", machine.inside.beta);
    CHECK_ON_THREAD(on, is_near(machine.gamma, 1 / 900e9), "{}", machine.gamma);
  });
}

TEST_CASE("a link with another slope for long messages, and pairs that disturb each other",
          "[probe]") {
  const cost::Link bent{20 * kUs, 0.4e-9, 262144, 0.2e-9};
  const StatedLinks links{{bent}, 1.5};
  for (const int size : {2, 3, 4, 5}) {
    on_threads(size, [&](TestRank& on) {
      const auto machine = measured(on, {}, links, [](int rank) { return rank; });
      // Two hosts send to each other also in a ring, which takes that long anyway.
      const double factor = size == 2 ? 1.5 : 1;
      for (const double bytes : {4.0, 262144.0, 1e6, 1e8}) {
        const double expected = bent.slower_beyond(factor).message_seconds(bytes);
        const double seconds = machine.between.message_seconds(bytes);
        CHECK_ON_THREAD(on, std::abs(seconds - expected) < 0.02 * expected, "{} {}", bytes,
                        seconds);
      }
      const double expected = size == 2 ? 1 : 1.5;
      CHECK_ON_THREAD(on, is_near(machine.pair_factor, expected), "{}", machine.pair_factor);
    });
  }
}

/// Whether a machine of four ranks, two on each host, is measured as its links between hosts are.
void check_between(const cost::Link& link, std::initializer_list<double> lengths) {
  const StatedLinks links{{{2 * kUs, 0.02e-9}, link, link}};
  on_threads(4, [&](TestRank& on) {
    const auto machine = measured(on, {}, links, [](int rank) { return rank / 2; });
    for (const double bytes : lengths) {
      const double seconds = machine.between.message_seconds(bytes);
      const double expected = link.message_seconds(bytes);
      CHECK_ON_THREAD(on, std::abs(seconds - expected) < 0.01 * expected, "{} {} {}", bytes,
                      seconds, expected);
    }
    CHECK_ON_THREAD(on, machine.links_per_node == 2, "{}", machine.links_per_node);
  });
}

TEST_CASE("between hosts messages from 64 KiB on have another line than short ones", "[probe]") {
  const cost::Link asks{1000 * kUs, 3e-9, 262144, 4e-9};
  const cost::Link at_once{100 * kUs, 2e-9};
  check_between(asks.with_short(65536, at_once), {4, 25e3, 65532, 65536, 1e5, 262144, 1e6});
  // Nothing is seen where those take hardly longer than their bytes say.
  const cost::Link hardly{130 * kUs, 2e-9, 262144, 4e-9};
  check_between({100 * kUs, 2e-9, 262144, 4e-9}, {4, 25e3, 1e5, 1e6});
  const StatedLinks links{{hardly.with_short(65536, at_once)}};
  on_threads(2, [&](TestRank& on) {
    const auto machine = measured(on, {}, links, [](int rank) { return rank; });
    CHECK_ON_THREAD(on, machine.between.asks_from == 0, "{}", machine.between.asks_from);
  });
}

TEST_CASE("ranks of one host are not asked where messages change their line", "[probe]") {
  const cost::Link asks{400 * kUs, 3e-9, 262144, 4e-9};
  const StatedLinks links{{asks.with_short(65536, {100 * kUs, 2e-9})}};
  on_threads(2, [&](TestRank& on) {
    const auto machine = measured(on, {}, links, [](int) { return 0; });
    CHECK_ON_THREAD(on, machine.inside.asks_from == 0, "{}", machine.inside.asks_from);
  });
}

TEST_CASE("messages to another partner each time disturb each other", "[probe]") {
  const StatedLinks links{{{20 * kUs, 0.4e-9, 262144, 0.2e-9}}, 1.5, true};
  for (const int size : {2, 3, 4, 5, 8}) {
    on_threads(size, [&](TestRank& on) {
      const auto machine = measured(on, {}, links, [](int rank) { return rank; });
      const double expected = size < 4 ? 1 : 1.5;  // one partner is always the same
      CHECK_ON_THREAD(on, is_near(machine.pair_factor, expected), "{}", machine.pair_factor);
    });
  }
}

TEST_CASE("ranks of a host share a link whose long messages have another slope", "[probe]") {
  const cost::Link bent{20 * kUs, 0.4e-9, 262144, 0.2e-9};
  for (const std::size_t shown : {1U, 2U, 4U}) {
    const cost::Link all = bent.shared_by(4.0 / double(shown));
    const StatedLinks links{{{2 * kUs, 0.02e-9}, all, bent}};
    on_threads(8, [&](TestRank& on) {
      const auto machine = measured(on, {}, links, [](int rank) { return rank / 4; });
      CHECK_ON_THREAD(on, machine.links_per_node == shown, "{}", machine.links_per_node);
    });
  }
}

}  // namespace
