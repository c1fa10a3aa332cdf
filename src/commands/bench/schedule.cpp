#include "schedule.hpp"

#include "rueda/reduce/ring_plan.hpp"

namespace rueda::bench {
namespace {

/// Which chunk a rank sends in a step of one of the ring's phases.
using Sender = int (RingPlan::*)(int) const noexcept;

void add_ring_phase(Schedule& schedule, const std::string& phase, Sender chunk, bool adds) {
  for (int number = 0; number < RingPlan{schedule.length, 0, schedule.ranks}.steps(); ++number) {
    Step step{phase, number, {}};
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      const RingPlan plan{schedule.length, rank, schedule.ranks};
      const int sent = (plan.*chunk)(number);
      if (plan.chunk(sent).size() > 0) step.messages.push_back({rank, plan.right(), sent, adds});
    }
    schedule.steps.push_back(step);
  }
}

auto at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Schedule ring_schedule(int ranks, std::size_t length) {
  Schedule schedule{ranks, length, {}, {}};
  for (int c = 0; c < ranks; ++c) schedule.chunks.push_back(RingPlan{length, 0, ranks}.chunk(c));
  add_ring_phase(schedule, "reduce-scatter", &RingPlan::reduce_send, true);
  add_ring_phase(schedule, "all-gather", &RingPlan::gather_send, false);
  return schedule;
}

Holdings first_holdings(const Schedule& schedule) {
  Holdings holdings;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    holdings.emplace_back(schedule.chunks.size(), 1U << static_cast<unsigned>(rank));
  }
  return holdings;
}

Holdings holdings_after(const Step& step, const Holdings& before) {
  Holdings after = before;
  for (const Message& m : step.messages) {
    const unsigned sent = before[at(m.from)][at(m.chunk)];
    unsigned& held = after[at(m.to)][at(m.chunk)];
    held = m.adds ? held | sent : sent;
  }
  return after;
}

std::vector<Traffic> sent_by_rank(const Schedule& schedule) {
  std::vector<Traffic> sent(at(schedule.ranks));
  for (const Step& step : schedule.steps) {
    for (const Message& m : step.messages) {
      ++sent[at(m.from)].messages;
      sent[at(m.from)].floats += schedule.chunks[at(m.chunk)].size();
    }
  }
  return sent;
}

}  // namespace rueda::bench
