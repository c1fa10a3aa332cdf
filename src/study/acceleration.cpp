#include "rueda/study/acceleration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "rueda/study/published.hpp"

namespace rueda {
namespace {

/// What has to be the same for a ratio to say something about the processors.
using Work = std::tuple<std::string, std::size_t, std::size_t, double>;

Work work_of(const Observation& o) {
  return {o.model, o.image_size, o.global_batch, std::isnan(o.images) ? 0 : o.images};
}

bool same_processor(const Observation& a, const Observation& b) {
  return a.source == b.source && a.processor == b.processor;
}

/// Repeats of one configuration.
using Repeats = std::vector<const Observation*>;

void add(std::vector<Repeats>& machines, const Observation& seen) {
  const auto found = std::ranges::find_if(machines, [&](const Repeats& repeats) {
    return same_processor(seen, *repeats.front()) && seen.variant == repeats.front()->variant;
  });
  if (found == machines.end())
    machines.push_back({&seen});
  else
    found->push_back(&seen);
}

Estimate together(const Repeats& repeats, Estimate Observation::*what) {
  std::vector<Estimate> estimates;
  for (const Observation* o : repeats) estimates.push_back(o->*what);
  return over_repeats(estimates);
}

Observation joined(const Repeats& repeats) {
  Observation all = *repeats.front();
  all.epoch = together(repeats, &Observation::epoch);
  all.first_epoch = together(repeats, &Observation::first_epoch);
  all.printed_epoch = together(repeats, &Observation::printed_epoch);
  return all;
}

std::string name_of(const Observation& o) {
  const char* processor = o.processor == Processor::cpu   ? "CPU"
                          : o.processor == Processor::gpu ? "GPU"
                                                          : "timed";
  return std::string(processor) + " (" + o.source + (o.variant.empty() ? "" : ", " + o.variant) +
         ")";
}

/// An unknown count is nothing in a table.
double count_cell(std::size_t count) { return count == 0 ? kUnknown : double(count); }

void add_row(Table& table, const Observation& slow, const Observation& fast) {
  const Estimate first = slow.first_epoch / fast.first_epoch;
  const Estimate steady = slow.epoch / fast.epoch;
  const Estimate printed = slow.printed_epoch / fast.printed_epoch;
  table.add({slow.model, count_cell(slow.image_size), count_cell(slow.global_batch), name_of(slow),
             name_of(fast), slow.first_epoch.value, fast.first_epoch.value, first.value,
             slow.epoch.value, fast.epoch.value, steady.value, steady.low, steady.high,
             printed.value, printed.low, printed.high});
}

void add_pairs(Table& table, const std::vector<Repeats>& all) {
  std::vector<Observation> machines;
  for (const Repeats& repeats : all) machines.push_back(joined(repeats));
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

Table empty_table() {
  return {.id = "acceleration",
          .title = "Acceleration: one processor beside another",
          .columns = {{"model", "Model", Show::text},
                      {"image_size", "Pixels", Show::count},
                      {"batch", "Batch", Show::count},
                      {"slower", "Slower", Show::text},
                      {"faster", "Faster", Show::text},
                      {"first_slower_s", "First epoch, slower (s)", Show::seconds},
                      {"first_faster_s", "First epoch, faster (s)", Show::seconds},
                      {"first_ratio", "Ratio of first epochs", Show::ratio},
                      {"steady_slower_s", "Steady epoch, slower (s)", Show::seconds},
                      {"steady_faster_s", "Steady epoch, faster (s)", Show::seconds},
                      {"steady_ratio", "Ratio of steady epochs", Show::ratio},
                      {"steady_ratio_low", "at least", Show::ratio},
                      {"steady_ratio_high", "at most", Show::ratio},
                      {"printed_ratio", "Ratio as printed", Show::ratio},
                      {"printed_ratio_low", "at least", Show::ratio},
                      {"printed_ratio_high", "at most", Show::ratio}},
          .rows = {},
          .notes = {"One processor or GPU each (P = 1), the same model, images and batch: this is "
                    "acceleration by other hardware, not scaling.",
                    "Ratio = time of the slower / time of the faster. At least and at most: what "
                    "repeats or rounding leave.",
                    "As printed: from the rounded seconds of an epoch in a log; the ratio before "
                    "uses the printed time per step, too, where there is one."}};
}

bool is_book(const Observation& o) { return o.source == kBookSource && o.ranks == 1; }

}  // namespace

Table acceleration_table(const std::vector<Observation>& observations) {
  std::vector<Work> order;  // as they were given
  std::map<Work, std::vector<Repeats>> groups;
  for (const Observation& seen : observations) {
    if (seen.ranks != 1 || seen.global_batch == 0) continue;
    if (!groups.contains(work_of(seen))) order.push_back(work_of(seen));
    add(groups[work_of(seen)], seen);
  }
  Table table = empty_table();
  for (const Work& work : order) add_pairs(table, groups[work]);
  if (std::ranges::any_of(observations, is_book)) {
    table.notes.push_back(
        "The \"nearly 10x\" of Torres 2026, ch. 10 is 220 s / 24 s of first epochs; steady it is "
        "215 s / 14 s = 15.4, and 15.0 with the 73 ms per step that the same log prints.");
  }
  return table;
}

}  // namespace rueda
