#include <algorithm>

#include <fmt/format.h>

#include "rueda/display/number_text.hpp"
#include "rueda/predict/tables.hpp"

namespace rueda::predict {
namespace {

/// A forecast with what follows from it.
struct Line {
  const EpochForecast* epoch = nullptr;
  double efficiency = 0;
  double rank_hours = 0;
};

std::vector<Line> lines_of(const std::vector<EpochForecast>& forecasts,
                           const EpochForecast& one_rank) {
  std::vector<Line> lines;
  for (const EpochForecast& epoch : forecasts) {
    const auto p = double(epoch.scenario.ranks);
    lines.push_back({&epoch, one_rank.seconds / epoch.seconds / p, p * epoch.seconds / 3600});
  }
  return lines;
}

std::vector<Field> fields_of(const Line& line, const Price& price) {
  const EpochForecast& e = *line.epoch;
  const auto p = double(e.scenario.ranks);
  const auto batch = double(e.full_steps > 0 ? e.scenario.global_batch : e.partial_images);
  std::vector<Field> fields = {
      {"ranks", "P", Show::count, p},
      {"steps", "steps", Show::count, double(e.steps())},
      {"images_per_rank", "images/rank", Show::count, batch / p},
      {"epoch_seconds", "epoch, s", Show::seconds, e.seconds},
      {"images_per_second", "images/s", Show::rate, e.images_per_second()},
      {"speedup", "speedup", Show::ratio, line.efficiency * p},
      {"efficiency", "eff., %", Show::percent, line.efficiency},
      {"step_seconds", "step, ms", Show::millis, e.full.seconds()},
      {"compute_seconds", "compute", Show::millis, e.full.compute},
      {"rest_seconds", "rest", Show::millis, e.full.rest},
      {"straggling_seconds", "straggling", Show::millis, e.full.straggling},
      {"exposed_seconds", "exposed", Show::millis, e.full.exposed},
      {"all_reduce_seconds", "all-reduce", Show::millis, e.full.all_reduce},
      {"rank_hours", "rank-hours", Show::gigabytes, line.rank_hours}};
  if (price.per_rank_hour)
    fields.push_back({"cost", "cost", Show::gigabytes, line.rank_hours * *price.per_rank_hour});
  if (price.watts)
    fields.push_back(
        {"kilowatt_hours", "kWh", Show::gigabytes, line.rank_hours * *price.watts / 1000});
  return fields;
}

void add_sweet_spots(Table& table, const std::vector<Line>& lines, const Price& price) {
  const auto seconds = [](const Line& line) { return line.epoch->seconds; };
  const Line& fastest = *std::ranges::min_element(lines, {}, seconds);
  table.notes.push_back(
      fmt::format("Least time: P = {}, {} s an epoch at an efficiency of {:.1f} %.",
                  count_text(fastest.epoch->scenario.ranks), seconds_text(fastest.epoch->seconds),
                  fastest.efficiency * 100));
  const Line& cheapest = *std::ranges::min_element(lines, {}, &Line::rank_hours);
  table.notes.push_back(fmt::format("Least cost: P = {}, {:.3g} rank-hours an epoch.",
                                    count_text(cheapest.epoch->scenario.ranks),
                                    cheapest.rank_hours));
  const Line* most = nullptr;
  for (const Line& line : lines) {
    if (line.efficiency >= price.least_efficiency) most = &line;
  }
  const std::string bound = fmt::format("{:.4g} %", price.least_efficiency * 100);
  table.notes.push_back(
      most == nullptr
          ? "No P in the table has an efficiency of " + bound + " or more."
          : fmt::format("Most ranks at an efficiency of {} or more: P = {}, {} s an epoch.", bound,
                        count_text(most->epoch->scenario.ranks),
                        seconds_text(most->epoch->seconds)));
}

void add_definitions(Table& table, const Price& price) {
  table.notes.emplace_back(
      "Speedup is the predicted epoch time on one rank over that on P; efficiency is speedup / P.");
  table.notes.emplace_back(
      "Of a full step, in ms: compute = forward, loss, backward of a mean rank; rest = input, "
      "optimizer, bookkeeping; straggling = by how much the slowest of P ranks is later; exposed = "
      "communication that backward does not hide. They add up to the step. all-reduce = "
      "communication, hidden or not.");
  table.notes.emplace_back(
      "An epoch is its full steps and a last, partial one with the images that are left.");
  if (price.per_rank_hour) {
    table.notes.push_back(fmt::format("cost: of an epoch, {} a rank-hour, in the price's currency.",
                                      setting_text(*price.per_rank_hour)));
  }
  if (price.watts) {
    table.notes.push_back(
        fmt::format("kWh: of an epoch, {} W a rank.", setting_text(*price.watts)));
  }
}

}  // namespace

Table forecast_table(const std::vector<EpochForecast>& forecasts, const EpochForecast& one_rank,
                     const Price& price) {
  Table table{.id = "forecast", .title = "Predicted epochs"};
  const auto lines = lines_of(forecasts, one_rank);
  for (const Line& line : lines) table.add_fields(fields_of(line, price));
  add_sweet_spots(table, lines, price);
  add_definitions(table, price);
  return table;
}

}  // namespace rueda::predict
