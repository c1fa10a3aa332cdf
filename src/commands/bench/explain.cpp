#include <algorithm>
#include <bit>
#include <cmath>

#include <spdlog/fmt/fmt.h>

#include "bench.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"
#include "schedule.hpp"

namespace rueda::bench {
namespace {

/// "0-3", "6-1" for ranks that follow each other in the circle, "0,2" for others, "*" for all.
std::string ranks_in(unsigned held, int ranks) {
  const auto has = [&](int r) { return (held >> static_cast<unsigned>(r % ranks) & 1U) != 0; };
  const int count = std::popcount(held);
  if (count == ranks) return "*";
  int first = 0;
  while (!(has(first) && !has(first + ranks - 1))) ++first;
  int length = 0;
  while (has(first + length)) ++length;
  if (count == 1) return std::to_string(first);
  if (length == count) return fmt::format("{}-{}", first, (first + length - 1) % ranks);
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) {
    if (has(r)) all.push_back(r);
  }
  return fmt::format("{}", fmt::join(all, ","));
}

bool sends(const Step* next, int rank, int chunk) {
  return next != nullptr &&
         std::any_of(next->messages.begin(), next->messages.end(),
                     [&](const Message& m) { return m.from == rank && m.chunk == chunk; });
}

std::string holdings_text(const Holdings& holdings, const Step* next) {
  const int ranks = static_cast<int>(holdings.size());
  const auto chunks = holdings.front().size();
  TextTable table(std::vector<Align>(chunks + 1, Align::left), 2);
  std::vector<std::string> head = {"chunk"};
  for (std::size_t c = 0; c < chunks; ++c) head.push_back(" " + std::to_string(c));
  table.add(head);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> cells = {"rank " + std::to_string(rank)};
    for (std::size_t c = 0; c < chunks; ++c) {
      const unsigned held = holdings[static_cast<std::size_t>(rank)][c];
      cells.push_back((sends(next, rank, static_cast<int>(c)) ? ">" : " ") + ranks_in(held, ranks));
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
  return count_text(static_cast<std::size_t>(floats * sizeof(float))) + " bytes";
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
  const auto [least, most] =
      std::minmax_element(sent.begin(), sent.end(),
                          [](const Traffic& a, const Traffic& b) { return a.floats < b.floats; });
  std::size_t messages = 0;
  double floats = 0;
  for (const Traffic& t : sent) messages += t.messages, floats += static_cast<double>(t.floats);
  const double p = schedule.ranks;
  const double bound = 2 * (p - 1) / p * static_cast<double>(schedule.length);
  const bool same = least->floats == most->floats && least->messages == most->messages;
  const std::string text = fmt::format(
      "A rank sends {}{}, {}. No algorithm does with less than 2(P-1)/P of the slice for the rank "
      "that sends most, {}.",
      same ? "" : "up to ", counted(most->messages, "message"),
      bytes_of(static_cast<double>(most->floats)),
      bytes_of(std::ceil(bound * sizeof(float)) / sizeof(float)));
  return paragraph("", 0, text) + fmt::format("All ranks together: {}, {}.\n",
                                              counted(messages, "message"), bytes_of(floats));
}

}  // namespace

std::string explain(const BenchExplainOptions& options) {
  const Schedule schedule = schedule_of(options.algorithm, options.ranks, options.length);
  std::string text = fmt::format(
      "{}: {} sum {} ({}) in {}.\n", to_string(options.algorithm),
      counted(static_cast<std::size_t>(options.ranks), "rank"), counted(options.length, "float"),
      bytes_of(static_cast<double>(options.length)), chunk_text(schedule));
  if (options.ranks == 1) return text + "There is nobody to send to.\n";
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
