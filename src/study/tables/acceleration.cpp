#include <algorithm>
#include <cmath>

#include "point_table.hpp"
#include "rueda/study/logs.hpp"

namespace rueda {
namespace {

bool same_processor(const Observation& a, const Observation& b) {
  return a.source == b.source && a.processor == b.processor;
}

/// Whether the ratio of their times is one of processors.
bool same_work(const Observation& a, const Observation& b) {
  const bool same_images = a.images == b.images || (std::isnan(a.images) && std::isnan(b.images));
  return a.model == b.model && a.image_size == b.image_size && a.global_batch == b.global_batch &&
         same_images;
}

std::string name_of(const Observation& o) {
  return std::string(to_string(o.processor)) + " (" + o.source +
         (o.variant.empty() ? "" : ", " + o.variant) + ")";
}

void add_row(Table& table, const Observation& slow, const Observation& fast) {
  const Estimate first = slow.first_epoch / fast.first_epoch;
  const Estimate steady = slow.epoch / fast.epoch;
  const Estimate printed = slow.printed_epoch / fast.printed_epoch;
  table.add_fields(
      {{"model", "Model", Show::text, slow.model},
       {"image_size", "Pixels", Show::count, count_cell(slow.image_size)},
       {"batch", "Batch", Show::count, count_cell(slow.global_batch)},
       {"slower", "Slower", Show::text, name_of(slow)},
       {"faster", "Faster", Show::text, name_of(fast)},
       {"first_slower_s", "First epoch, slower (s)", Show::seconds, slow.first_epoch.value},
       {"first_faster_s", "First epoch, faster (s)", Show::seconds, fast.first_epoch.value},
       {"first_ratio", "Ratio of first epochs", Show::ratio, first.value},
       {"steady_slower_s", "Steady epoch, slower (s)", Show::seconds, slow.epoch.value},
       {"steady_faster_s", "Steady epoch, faster (s)", Show::seconds, fast.epoch.value},
       {"steady_ratio", "Ratio of steady epochs", Show::ratio, steady.value},
       {"steady_ratio_low", "at least", Show::ratio, steady.low},
       {"steady_ratio_high", "at most", Show::ratio, steady.high},
       {"printed_ratio", "Ratio as printed", Show::ratio, printed.value},
       {"printed_ratio_low", "at least", Show::ratio, printed.low},
       {"printed_ratio_high", "at most", Show::ratio, printed.high}});
}

/// The first of `groups` to whose first member `is_same` applies, or a new one.
template <typename Group, typename IsSame>
Group& group_of(std::vector<Group>& groups, IsSame is_same) {
  const auto found = std::ranges::find_if(groups, is_same);
  return found == groups.end() ? groups.emplace_back() : *found;
}

/// Repeats of one configuration.
using Repeats = std::vector<const Observation*>;

/// Every two processors that did the same work, the slower one first.
void add_pairs(Table& table, const std::vector<Repeats>& all) {
  std::vector<Observation> machines;
  for (const Repeats& repeats : all) machines.push_back(merged(repeats));
  std::ranges::stable_sort(machines, [](const Observation& a, const Observation& b) {
    return a.epoch.value > b.epoch.value;
  });
  for (std::size_t slow = 0; slow < machines.size(); ++slow) {
    for (std::size_t fast = slow + 1; fast < machines.size(); ++fast) {
      if (same_processor(machines[slow], machines[fast])) continue;
      add_row(table, machines[slow], machines[fast]);
    }
  }
}

bool is_book(const Observation& o) { return o.source == kBookSource && o.ranks == 1; }

}  // namespace

Table acceleration_table(const std::vector<Observation>& observations) {
  std::vector<std::vector<Repeats>> works;  // as they were given
  for (const Observation& seen : observations) {
    if (seen.ranks != 1 || seen.global_batch == 0) continue;
    auto& machines = group_of(works, [&](const std::vector<Repeats>& work) {
      return same_work(*work.front().front(), seen);
    });
    group_of(machines, [&](const Repeats& repeats) {
      return same_processor(*repeats.front(), seen) && repeats.front()->variant == seen.variant;
    }).push_back(&seen);
  }
  Table table{.id = "acceleration", .title = "Acceleration: one processor against another"};
  table.notes = {
      "One processor or GPU each (P = 1), the same model, images and batch: this is "
      "acceleration by other hardware, not scaling.",
      "Ratio = time of the slower / time of the faster. At least and at most: what "
      "repeats or rounding leave.",
      "As printed: from the rounded seconds of an epoch in a log; the ratio before "
      "uses the printed time per step, too, where there is one."};
  for (const auto& machines : works) add_pairs(table, machines);
  if (std::ranges::any_of(observations, is_book)) {
    table.notes.push_back(
        "The \"nearly 10x\" of Torres 2026, ch. 10 is 220 s / 24 s of first epochs; steady it is "
        "215 s / 14 s = 15.4, and 15.0 with the 73 ms per step that the same log prints.");
  }
  return table;
}

}  // namespace rueda
