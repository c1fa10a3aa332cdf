#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "commands/bench/bench.hpp"
#include "display/text.hpp"
#include "reduce/doubling_plan.hpp"
#include "reduce/halving_plan.hpp"
#include "reduce/ring_plan.hpp"

namespace rueda::bench {
namespace {

auto at(int index) { return std::size_t(index); }

/// Which chunk a rank sends in a step of one of the ring's phases.
using Sender = int (RingPlan::*)(int) const noexcept;

void add_ring_phase(Schedule& schedule, const std::string& phase, Sender chunk, bool adds) {
  for (int number = 0; number < RingPlan{schedule.length, 0, schedule.ranks}.steps(); ++number) {
    Step step{phase, number, {}};
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      const RingPlan plan{schedule.length, rank, schedule.ranks};
      const auto sent = at((plan.*chunk)(number));
      if (schedule.chunks[sent].empty()) continue;
      step.messages.push_back({rank, plan.right(), {sent, sent + 1}, adds});
    }
    schedule.steps.push_back(step);
  }
}

std::vector<Range> chunks_of(std::size_t length, std::size_t count) {
  std::vector<Range> chunks;
  for (std::size_t c = 0; c < count; ++c) chunks.push_back(even_split(length, count, c));
  return chunks;
}

Schedule ring_schedule(int ranks, std::size_t length) {
  Schedule schedule{ranks, length, chunks_of(length, at(ranks)), {}};
  add_ring_phase(schedule, "reduce-scatter", &RingPlan::reduce_send, true);
  add_ring_phase(schedule, "all-gather", &RingPlan::gather_send, false);
  return schedule;
}

/// What is left of each rank's steps begins with the one that it is at.
using Plans = std::vector<std::span<const PairStep>>;

/// The ranks that have come to their next step together with their peer.
std::vector<int> ready_ranks(const Plans& plans) {
  std::vector<int> ready;
  for (int rank = 0; rank < int(plans.size()); ++rank) {
    if (plans[at(rank)].empty()) continue;
    const int peer = plans[at(rank)].front().peer;
    if (plans[at(peer)].front().peer == rank) ready.push_back(rank);
  }
  return ready;
}

/// The next step of these ranks. Where phases meet in it, it is named by its first sender's.
Step next_step(const Schedule& schedule, const Plans& plans, const std::vector<int>& ready) {
  Step step{"", int(schedule.steps.size()), {}};
  for (const int rank : ready) {
    const PairStep& planned = plans[at(rank)].front();
    if (planned.sent.empty() || schedule.floats(planned.sent) == 0) continue;
    const bool adds = plans[at(planned.peer)].front().adds;
    if (step.messages.empty()) step.phase = planned.phase;
    step.messages.push_back({rank, planned.peer, planned.sent, adds});
  }
  return step;
}

Schedule pair_schedule(PairPlan (*plan_of)(int rank, int ranks), int ranks, std::size_t length) {
  std::vector<PairPlan> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(plan_of(rank, ranks));
  Schedule schedule{ranks, length, chunks_of(length, all.front().chunks), {}};
  Plans plans;
  for (const PairPlan& plan : all) plans.emplace_back(plan.steps);
  for (auto ready = ready_ranks(plans); !ready.empty(); ready = ready_ranks(plans)) {
    Step step = next_step(schedule, plans, ready);
    if (!step.messages.empty()) schedule.steps.push_back(std::move(step));
    for (const int rank : ready) plans[at(rank)] = plans[at(rank)].subspan(1);
  }
  return schedule;
}

/// Rank 0 takes part in every message, so each is a step.
Schedule central_schedule(int ranks, std::size_t length) {
  Schedule schedule{ranks, length, {{0, length}}, {}};
  auto& steps = schedule.steps;
  if (length == 0) return schedule;
  for (int rank = 1; rank < ranks; ++rank)
    steps.push_back({"to rank 0", int(steps.size()), {{rank, 0, {0, 1}, true}}});
  for (int rank = 1; rank < ranks; ++rank)
    steps.push_back({"from rank 0", int(steps.size()), {{0, rank, {0, 1}, false}}});
  return schedule;
}

bool has(Range chunks, std::size_t chunk) { return chunks.begin <= chunk && chunk < chunks.end; }

/// `count` ranks from `first` on, in the circle.
unsigned run_of(int first, int count, int ranks) {
  unsigned held = 0;
  for (int i = 0; i < count; ++i) held |= 1U << unsigned((first + i) % ranks);
  return held;
}

/// "0-3", "6-1" for ranks that follow each other in the circle, "0,2" for others, "*" for all.
std::string ranks_in(unsigned held, int ranks) {
  std::vector<int> have;
  for (int rank = 0; rank < ranks; ++rank)
    if ((held >> unsigned(rank) & 1U) != 0) have.push_back(rank);
  const int count = int(have.size());
  if (count == ranks) return "*";
  if (count == 1) return std::to_string(have.front());
  for (const int first : have) {
    if (held == run_of(first, count, ranks))
      return fmt::format("{}-{}", first, (first + count - 1) % ranks);
  }
  return fmt::format("{}", fmt::join(have, ","));
}

bool sends(const Step* next, int rank, std::size_t chunk) {
  if (next == nullptr) return false;
  for (const Message& m : next->messages)
    if (m.from == rank && has(m.chunks, chunk)) return true;
  return false;
}

std::string holdings_text(const Holdings& holdings, const Step* next) {
  const int ranks = int(holdings.size());
  const auto chunks = holdings.front().size();
  TextTable table(std::vector<Align>(chunks + 1, Align::left), 2);
  std::vector<std::string> head = {"chunk"};
  for (std::size_t c = 0; c < chunks; ++c) head.push_back(" " + std::to_string(c));
  table.add(head);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> cells = {"rank " + std::to_string(rank)};
    for (std::size_t c = 0; c < chunks; ++c) {
      const char* mark = sends(next, rank, c) ? ">" : " ";
      cells.push_back(mark + ranks_in(holdings[std::size_t(rank)][c], ranks));
    }
    table.add(cells);
  }
  return table.text();
}

/// " chunk 2", " chunks 2-3".
std::string numbers_text(Range chunks) {
  if (chunks.size() == 1) return fmt::format(" chunk {}", chunks.begin);
  return fmt::format(" chunks {}-{}", chunks.begin, chunks.end - 1);
}

/// "added", "kept", or which of them, for steps in which phases meet.
std::string use_text(const Step& step) {
  std::vector<int> adders;
  for (const Message& m : step.messages)
    if (m.adds) adders.push_back(m.to);
  if (adders.empty()) return "kept";
  if (adders.size() == step.messages.size()) return "added";
  return fmt::format("added by {}, kept by others", fmt::join(adders, ", "));
}

std::string step_text(const Step& step, std::size_t chunks) {
  std::vector<std::string> sent;
  for (const Message& m : step.messages) {
    sent.push_back(fmt::format("{}->{}", m.from, m.to));
    if (chunks > 1) sent.back() += numbers_text(m.chunks);
  }
  std::string text = "nothing, the chunks are empty";
  if (!sent.empty())
    text = fmt::format("{}; what comes in is {}", fmt::join(sent, ", "), use_text(step));
  return paragraph("", 2, fmt::format("{}, step {}: {}", step.phase, step.number, text));
}

std::string bytes_of(double floats) {
  return count_text(std::size_t(floats * sizeof(float))) + " bytes";
}

std::string chunk_text(const Schedule& schedule) {
  const std::size_t count = schedule.chunks.size();
  const std::size_t most = schedule.chunks.front().size();
  const std::size_t least = schedule.chunks.back().size();
  std::string sizes = count_text(most);
  if (most != least) sizes += " or " + count_text(least);
  return counted(count, "chunk") + " of " + sizes + " floats";
}

std::string totals(const Schedule& schedule) {
  const auto sent = sent_by_rank(schedule);
  const auto [least, most] = std::ranges::minmax_element(sent, {}, &Traffic::floats);
  std::size_t messages = 0;
  double floats = 0;
  for (const Traffic& t : sent) messages += t.messages, floats += double(t.floats);
  const double p = schedule.ranks;
  const double bound = 2 * (p - 1) / p * double(schedule.length);
  const bool same = least->floats == most->floats && least->messages == most->messages;
  const char* up_to = same ? "" : "up to ";
  const std::string text = fmt::format(
      "A rank sends {}{}, {}. No algorithm does with less than 2(P-1)/P of the slice for the rank "
      "that sends most, {}.",
      up_to, counted(most->messages, "message"), bytes_of(double(most->floats)),
      bytes_of(std::ceil(bound * sizeof(float)) / sizeof(float)));
  return paragraph("", 0, text) + fmt::format("All ranks together: {}, {}.\n",
                                              counted(messages, "message"), bytes_of(floats));
}

}  // namespace

Schedule schedule_of(Algorithm algorithm, int ranks, std::size_t length) {
  if (algorithm == Algorithm::ring) return ring_schedule(ranks, length);
  if (algorithm == Algorithm::doubling) return pair_schedule(doubling_plan, ranks, length);
  if (algorithm == Algorithm::halving) return pair_schedule(halving_plan, ranks, length);
  require(algorithm == Algorithm::central, "--algorithm " + std::string(to_string(algorithm)) +
                                               ": give one of ring, doubling, halving, central");
  return central_schedule(ranks, length);
}

Holdings first_holdings(const Schedule& schedule) {
  Holdings holdings;
  for (int rank = 0; rank < schedule.ranks; ++rank)
    holdings.emplace_back(schedule.chunks.size(), 1U << unsigned(rank));
  return holdings;
}

Holdings holdings_after(const Step& step, const Holdings& before) {
  Holdings after = before;
  for (const Message& m : step.messages) {
    for (std::size_t chunk = m.chunks.begin; chunk < m.chunks.end; ++chunk) {
      unsigned& held = after[at(m.to)][chunk];
      if (!m.adds) held = 0;
      held |= before[at(m.from)][chunk];
    }
  }
  return after;
}

std::vector<Traffic> sent_by_rank(const Schedule& schedule) {
  std::vector<Traffic> sent(at(schedule.ranks));
  for (const Step& step : schedule.steps) {
    for (const Message& m : step.messages) {
      ++sent[at(m.from)].messages;
      sent[at(m.from)].floats += schedule.floats(m.chunks);
    }
  }
  return sent;
}

std::string explain(const BenchExplainOptions& options) {
  const Schedule schedule = schedule_of(options.algorithm, options.ranks, options.length);
  std::string text =
      fmt::format("{}: {} sum {} ({}) in {}.\n", to_string(options.algorithm),
                  counted(std::size_t(options.ranks), "rank"), counted(options.length, "float"),
                  bytes_of(double(options.length)), chunk_text(schedule));
  if (options.ranks == 1) return text + "There is no other rank to send to.\n";
  text +=
      paragraph("", 0,
                "Below each step: whose values a rank has summed in each chunk, 0-2 for ranks 0 "
                "to 2, * for all; > marks what it sends next.");
  Holdings holdings = first_holdings(schedule);
  for (const Step& step : schedule.steps) {
    text += '\n' + holdings_text(holdings, &step) + '\n' + step_text(step, schedule.chunks.size());
    holdings = holdings_after(step, holdings);
  }
  return text + '\n' + holdings_text(holdings, nullptr) + '\n' + totals(schedule);
}

}  // namespace rueda::bench
