#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>
#include <set>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "commands/bench/bench.hpp"
#include "display/text.hpp"
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

/// Adds messages that two ranks exchange at the same time, in the step after
/// the last one in which either takes part. Where phases meet in a step, it is
/// named by its first sender's.
void send(std::vector<Step>& steps, const char* phase, std::initializer_list<Message> messages) {
  const std::set<int> ranks = {messages.begin()->from, messages.begin()->to};
  const auto is_busy = [&](const Step& step) {
    return std::ranges::any_of(step.messages, [&](const Message& message) {
      return ranks.contains(message.from) || ranks.contains(message.to);
    });
  };
  const auto last = std::find_if(steps.rbegin(), steps.rend(), is_busy);
  const auto number = std::size_t(steps.rend() - last);
  if (number == steps.size()) steps.push_back({"", int(number), {}});
  Step& step = steps[number];
  for (const Message& message : messages) {
    const auto where = std::ranges::upper_bound(step.messages, message.from, {}, &Message::from);
    if (where == step.messages.begin()) step.phase = phase;
    step.messages.insert(where, message);
  }
}

/// As DoublingAllReduce cuts a block of ranks; tests/unit/mpi compares the messages.
void add_doubling(std::vector<Step>& steps, int first, int count) {
  if (count == 1) return;
  const int left = int(std::bit_floor(unsigned(count - 1)));
  const int right = count - left;
  add_doubling(steps, first, left);
  add_doubling(steps, first + left, right);
  for (int one = first; one < first + right; ++one)
    send(steps, "doubling", {{one, one + left, 0, true}, {one + left, one, 0, true}});
  for (int have = right; have < left; have *= 2) {
    for (int j = 0; j < have && j + have < left; ++j)
      send(steps, "spread", {{first + j, first + j + have, 0, false}});
  }
}

void add_central(std::vector<Step>& steps, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) send(steps, "to rank 0", {{rank, 0, 0, true}});
  for (int rank = 1; rank < ranks; ++rank) send(steps, "from rank 0", {{0, rank, 0, false}});
}

/// "0-3", "6-1" for ranks that follow each other in the circle, "0,2" for others, "*" for all.
std::string ranks_in(unsigned held, int ranks) {
  const auto has = [&](int r) { return (held >> unsigned(r % ranks) & 1U) != 0; };
  const int count = std::popcount(held);
  if (count == ranks) return "*";
  int first = 0;
  while (!has(first) || has(first + ranks - 1)) ++first;
  if (count == 1) return std::to_string(first);
  if (std::ranges::all_of(std::views::iota(first, first + count), has))
    return fmt::format("{}-{}", first, (first + count - 1) % ranks);
  return fmt::format("{}", fmt::join(std::views::iota(0, ranks) | std::views::filter(has), ","));
}

bool sends(const Step* next, int rank, int chunk) {
  const auto is_it = [&](const Message& m) { return m.from == rank && m.chunk == chunk; };
  return next != nullptr && std::ranges::any_of(next->messages, is_it);
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
      const unsigned held = holdings[std::size_t(rank)][c];
      cells.push_back((sends(next, rank, int(c)) ? ">" : " ") + ranks_in(held, ranks));
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
  const std::string text = sent.empty()
                               ? "nothing, the chunks are empty"
                               : fmt::format("{}; what comes in is {}", fmt::join(sent, ", "),
                                             step.messages.front().adds ? "added" : "kept");
  return paragraph("", 2, fmt::format("{}, step {}: {}", step.phase, step.number, text));
}

std::string bytes_of(double floats) {
  return count_text(std::size_t(floats * sizeof(float))) + " bytes";
}

std::string chunk_text(const Schedule& schedule) {
  const std::size_t count = schedule.chunks.size();
  const std::size_t most = schedule.chunks.front().size();
  const std::size_t least = schedule.chunks.back().size();
  const std::string sizes =
      count_text(most) + (most == least ? "" : " or " + count_text(least)) + " floats";
  return counted(count, "chunk") + " of " + sizes;
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
  const std::string text = fmt::format(
      "A rank sends {}{}, {}. No algorithm does with less than 2(P-1)/P of the slice for the rank "
      "that sends most, {}.",
      same ? "" : "up to ", counted(most->messages, "message"), bytes_of(double(most->floats)),
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
  algorithm == Algorithm::doubling ? add_doubling(schedule.steps, 0, senders)
                                   : add_central(schedule.steps, senders);
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
