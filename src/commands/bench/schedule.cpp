#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <span>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "commands/bench/bench.hpp"
#include "display/text.hpp"
#include "reduce/doubling_plan.hpp"
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

/// What is left of each rank's steps begins with the one that it is at.
using Plans = std::vector<std::span<const DoublingStep>>;

/// The messages of all ranks that have come to their next step together with their peer.
std::vector<Message> next_messages(const Plans& plans) {
  std::vector<Message> messages;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (plans[rank].empty()) continue;
    const auto [act, peer] = plans[rank].front();
    if (plans[at(peer)].front().peer != int(rank) || act == DoublingStep::Act::receive) continue;
    messages.push_back({int(rank), peer, 0, act == DoublingStep::Act::swap_and_add});
  }
  return messages;
}

/// Where phases meet in a step, it is named by its first sender's.
void add_doubling(std::vector<Step>& steps, int ranks) {
  std::vector<std::vector<DoublingStep>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(doubling_steps(rank, ranks));
  Plans plans(all.begin(), all.end());
  for (auto messages = next_messages(plans); !messages.empty(); messages = next_messages(plans)) {
    const int first = messages.front().from;
    steps.push_back({phase_of(plans[at(first)].front().act), int(steps.size()), messages});
    std::set<int> busy;
    for (const Message& message : messages) busy.insert({message.from, message.to});
    for (const int rank : busy) plans[at(rank)] = plans[at(rank)].subspan(1);
  }
}

/// Rank 0 takes part in every message, so each is a step.
void add_central(std::vector<Step>& steps, int ranks) {
  for (int rank = 1; rank < ranks; ++rank)
    steps.push_back({"to rank 0", int(steps.size()), {{rank, 0, 0, true}}});
  for (int rank = 1; rank < ranks; ++rank)
    steps.push_back({"from rank 0", int(steps.size()), {{0, rank, 0, false}}});
}

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

bool sends(const Step* next, int rank, int chunk) {
  if (next == nullptr) return false;
  for (const Message& m : next->messages)
    if (m.from == rank && m.chunk == chunk) return true;
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
      const char* mark = sends(next, rank, int(c)) ? ">" : " ";
      cells.push_back(mark + ranks_in(holdings[std::size_t(rank)][c], ranks));
    }
    table.add(cells);
  }
  return table.text();
}

std::string step_text(const Step& step, std::size_t chunks) {
  std::vector<std::string> sent;
  for (const Message& m : step.messages) {
    sent.push_back(fmt::format("{}->{}", m.from, m.to));
    if (chunks > 1) sent.back() += fmt::format(" chunk {}", m.chunk);
  }
  std::string text = "nothing, the chunks are empty";
  if (!sent.empty()) {
    const char* end = step.messages.front().adds ? "added" : "kept";
    text = fmt::format("{}; what comes in is {}", fmt::join(sent, ", "), end);
  }
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
  require(
      algorithm == Algorithm::doubling || algorithm == Algorithm::central,
      "--algorithm " + std::string(to_string(algorithm)) + ": give one of ring, doubling, central");
  Schedule schedule{ranks, length, {{0, length}}, {}};
  const int senders = length > 0 ? ranks : 1;
  if (algorithm == Algorithm::doubling)
    add_doubling(schedule.steps, senders);
  else
    add_central(schedule.steps, senders);
  return schedule;
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
    const unsigned sent = before[at(m.from)][at(m.chunk)];
    unsigned& held = after[at(m.to)][at(m.chunk)];
    if (!m.adds) held = 0;
    held |= sent;
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
