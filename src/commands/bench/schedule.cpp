#include "schedule.hpp"

#include <algorithm>
#include <bit>

#include "rueda/core/error.hpp"
#include "rueda/reduce/ring_plan.hpp"

namespace rueda::bench {
namespace {

auto at(int index) { return static_cast<std::size_t>(index); }

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

Schedule ring_schedule(int ranks, std::size_t length) {
  Schedule schedule{ranks, length, {}, {}};
  for (int c = 0; c < ranks; ++c) schedule.chunks.push_back(RingPlan{length, 0, ranks}.chunk(c));
  add_ring_phase(schedule, "reduce-scatter", &RingPlan::reduce_send, true);
  add_ring_phase(schedule, "all-gather", &RingPlan::gather_send, false);
  return schedule;
}

/// Messages of the whole slice, each in the first step in which both its ranks are free. Takes them
/// in an order in which no rank does a later one first.
class WholeSlices {
 public:
  WholeSlices(int ranks, std::size_t length)
      : schedule_{ranks, length, {{0, length}}, {}}, free_at_(at(ranks)) {}

  void send(const char* phase, int from, int to, bool adds) {
    put(claim(from, to), phase, {from, to, 0, adds});
  }
  void exchange(const char* phase, int left, int right) {
    Step& step = claim(left, right);
    put(step, phase, {left, right, 0, true});
    put(step, phase, {right, left, 0, true});
  }
  Schedule take() { return std::move(schedule_); }

 private:
  Step& claim(int one, int other) {
    const int number = std::max(free_at_[at(one)], free_at_[at(other)]);
    free_at_[at(one)] = free_at_[at(other)] = number + 1;
    auto& steps = schedule_.steps;
    while (steps.size() <= at(number)) steps.push_back({"", static_cast<int>(steps.size()), {}});
    return steps[at(number)];
  }

  /// Where phases meet in a step, it is named by its first sender's.
  static void put(Step& step, const char* phase, const Message& message) {
    const auto later = [&](const Message& other) { return other.from > message.from; };
    const auto where = std::find_if(step.messages.begin(), step.messages.end(), later);
    if (where == step.messages.begin()) step.phase = phase;
    step.messages.insert(where, message);
  }

  Schedule schedule_;
  std::vector<int> free_at_;  ///< the step, of each rank
};

/// As DoublingAllReduce cuts a block of ranks; tests/mpi compares the messages.
void add_doubling(WholeSlices& slices, int first, int count) {
  if (count == 1) return;
  const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
  const int right = count - left;
  add_doubling(slices, first, left);
  add_doubling(slices, first + left, right);
  for (int j = 0; j < right; ++j) slices.exchange("doubling", first + j, first + left + j);
  for (int have = right; have < left; have *= 2) {
    for (int j = 0; j < have && j + have < left; ++j) {
      slices.send("spread", first + j, first + j + have, false);
    }
  }
}

void add_central(WholeSlices& slices, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) slices.send("to rank 0", rank, 0, true);
  for (int rank = 1; rank < ranks; ++rank) slices.send("from rank 0", 0, rank, false);
}

}  // namespace

Schedule schedule_of(Algorithm algorithm, int ranks, std::size_t length) {
  if (algorithm == Algorithm::ring) return ring_schedule(ranks, length);
  if (algorithm != Algorithm::doubling && algorithm != Algorithm::central) {
    throw InputError("--algorithm " + std::string(to_string(algorithm)) +
                     ": give one of ring, doubling, central");
  }
  WholeSlices slices(ranks, length);
  const int senders = length > 0 ? ranks : 1;
  algorithm == Algorithm::doubling ? add_doubling(slices, 0, senders)
                                   : add_central(slices, senders);
  return slices.take();
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
