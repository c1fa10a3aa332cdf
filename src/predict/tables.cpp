#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "display/text.hpp"
#include "predict/predict.hpp"

namespace rueda::predict {
namespace {

double rank_hours(const EpochForecast& e) { return double(e.scenario.ranks) * e.seconds / 3600; }

/// Of its first step, which is a full one where there is any.
double images_per_rank(const EpochForecast& e) {
  std::size_t images = e.partial_images;
  if (e.full_steps > 0) images = e.scenario.global_batch;
  return double(images) / double(e.scenario.ranks);
}

double efficiency_of(const EpochForecast& e, const EpochForecast& one_rank) {
  return one_rank.seconds / e.seconds / double(e.scenario.ranks);
}

/// Half of the interval of a figure, in the column after it.
void add_interval(Fields& fields, const char* figure, const char* key, double half) {
  const auto at = std::ranges::find(fields, figure, &TableField::key);
  fields.insert(at + 1, {{key, "+-, %", Show::percent}, half});
}

Fields fields_of(const Forecast& e, double efficiency, const Price& price) {
  const auto p = double(e.scenario.ranks);
  Fields fields = {{"ranks", "P", Show::count, p},
                   {"steps", "steps", Show::count, double(e.steps())},
                   {"images_per_rank", "images/rank", Show::count, images_per_rank(e)},
                   {"epoch_seconds", "epoch, s", Show::seconds, e.seconds},
                   {"images_per_second", "images/s", Show::rate, e.images_per_second()},
                   {"speedup", "speedup", Show::ratio, efficiency * p},
                   {"efficiency", "eff., %", Show::percent, efficiency},
                   {"step_seconds", "step, ms", Show::millis, e.full.seconds()},
                   {"compute_seconds", "compute", Show::millis, e.full.compute},
                   {"rest_seconds", "rest", Show::millis, e.full.rest},
                   {"straggling_seconds", "straggling", Show::millis, e.full.straggling},
                   {"exposed_seconds", "exposed", Show::millis, e.full.exposed},
                   {"all_reduce_seconds", "all-reduce", Show::millis, e.full.all_reduce},
                   {"rank_hours", "rank-hours", Show::gigabytes, rank_hours(e)}};
  if (!std::isnan(e.plus_minus.epoch)) {
    add_interval(fields, "epoch_seconds", "epoch_plus_minus", e.plus_minus.epoch);
    add_interval(fields, "efficiency", "efficiency_plus_minus", e.plus_minus.speedup);
    add_interval(fields, "all_reduce_seconds", "all_reduce_plus_minus", e.plus_minus.all_reduce);
  }
  if (price.per_rank_hour)
    fields.push_back({"cost", "cost", Show::gigabytes, rank_hours(e) * *price.per_rank_hour});
  if (price.watts)
    fields.push_back(
        {"kilowatt_hours", "kWh", Show::gigabytes, rank_hours(e) * *price.watts / 1000});
  return fields;
}

std::string most_efficient_text(const Forecasts& forecasts, const EpochForecast& one_rank,
                                double least_efficiency) {
  const EpochForecast* most = nullptr;
  for (const EpochForecast& e : forecasts)
    if (efficiency_of(e, one_rank) >= least_efficiency) most = &e;
  const std::string bound = fmt::format("{:.4g} %", least_efficiency * 100);
  if (most == nullptr) return "No P in the table has an efficiency of " + bound + " or more.";
  return fmt::format("Most ranks at an efficiency of {} or more: P = {}, {} s an epoch.", bound,
                     count_text(most->scenario.ranks), seconds_text(most->seconds));
}

void add_sweet_spots(Table& table, const Forecasts& forecasts, const EpochForecast& one_rank,
                     double least_efficiency) {
  const auto& fastest = *std::ranges::min_element(forecasts, {}, &Forecast::seconds);
  table.notes.push_back(fmt::format("Shortest epoch: P = {}, {} s at an efficiency of {:.1f} %.",
                                    count_text(fastest.scenario.ranks),
                                    seconds_text(fastest.seconds),
                                    efficiency_of(fastest, one_rank) * 100));
  const auto& cheapest = *std::ranges::min_element(forecasts, {}, rank_hours);
  table.notes.push_back(fmt::format("Lowest cost: P = {}, {:.3g} rank-hours an epoch.",
                                    count_text(cheapest.scenario.ranks), rank_hours(cheapest)));
  table.notes.push_back(most_efficient_text(forecasts, one_rank, least_efficiency));
}

void add_definitions(Table& table, const Price& price, bool certain) {
  table.notes.insert(
      table.notes.end(),
      {"Speedup is the predicted epoch time on one rank over that on P; efficiency is speedup / P.",
       "Of a full step, in ms: compute = forward, loss, backward of a mean rank; rest = input, "
       "optimizer, bookkeeping; straggling = by how much the slowest of P ranks is later; exposed "
       "= communication that backward does not hide. They add up to the step. all-reduce = "
       "communication, hidden or not.",
       "An epoch is its full steps and a last, partial one with the images that are left."});
  if (certain) {
    table.notes.emplace_back(
        "+-: half of the 90 % interval of a single run, relative to the figure before it; of the "
        "epoch also that of images/s, step and rank-hours, of eff. also that of speedup. It "
        "follows from how far the runs are from the model, and from the model without each of "
        "them. It does not know what no run shows, such as a switch that many ranks share.");
  } else {
    table.notes.emplace_back(
        "Intervals need two runs or more of this network on several ranks: repeat them.");
  }
  if (price.per_rank_hour)
    table.notes.push_back(fmt::format("cost: of an epoch, {} a rank-hour, in the price's currency.",
                                      *price.per_rank_hour));
  if (price.watts)
    table.notes.push_back(fmt::format("kWh: of an epoch, {} W a rank.", *price.watts));
}

/// 52.1 us, 1.20 ms, 3.4 s.
std::string seconds_with_unit(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

/// 118 MB/s, 1.25 GB/s.
std::string rate_with_unit(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second)) return "unlimited";
  if (bytes_per_second >= 1e9) return fmt::format("{:.4g} GB/s", bytes_per_second * 1e-9);
  return fmt::format("{:.4g} MB/s", bytes_per_second * 1e-6);
}

void add_link(Table& table, const std::string& where, const Link& link,
              const std::optional<LinkFit>& fitted) {
  std::string source = "given";
  double error = kUnknown;
  if (fitted && link.alpha == fitted->link.alpha && link.beta == fitted->link.beta) {
    source = fitted->source;
    error = fitted->fit.typical_error;
  }
  table.add({"alpha" + where, seconds_with_unit(link.alpha), link.alpha, error, source});
  table.add({"1 / beta" + where, rate_with_unit(1 / link.beta), link.beta, error, source});
}

/// Where nothing was measured and nothing given it is 0.
void add_gamma(Table& table, double gamma, std::size_t rows) {
  std::string text = "unknown", source;
  if (gamma > 0) text = rate_with_unit(1 / gamma);
  if (rows > 0) source = counted(rows, "bucket") + " of runs";
  table.add({"1 / gamma", text, gamma, kUnknown, source});
}

void add_machine(Table& table, const CostFit& fit) {
  const Machine& machine = fit.model.machine;
  const MachineFit& fitted = fit.machine;
  if (machine.ranks_per_node == 1) {
    add_link(table, "", machine.between, fitted.only());
  } else {
    add_link(table, " inside nodes", machine.inside, fitted.inside);
    add_link(table, " between nodes", machine.between, fitted.between);
  }
  add_gamma(table, machine.gamma, fitted.gamma_rows);
}

void add_compute(Table& table, const CostFit& fit) {
  const ComputeModel& c = fit.model.compute;
  std::string source = "given";
  double error = kUnknown;
  if (fit.compute) {
    source = counted(fit.compute->runs, "run");
    error = fit.compute->fit.typical_error;
  }
  for (const auto& [figure, seconds, relative_error] :
       {std::tuple("t0", c.fixed, error),
        {"t1, an image", c.per_image, error},
        {"input, an image", c.input_per_image, kUnknown},
        {"update and other", c.update, kUnknown}})
    table.add({figure, seconds_with_unit(seconds), seconds, relative_error, source});
}

}  // namespace

Table forecast_table(const Forecasts& forecasts, const EpochForecast& one_rank,
                     const Price& price) {
  Table table{.id = "forecast", .title = "Predicted epochs"};
  for (const Forecast& e : forecasts)
    table.add_fields(fields_of(e, efficiency_of(e, one_rank), price));
  add_sweet_spots(table, forecasts, one_rank, price.least_efficiency);
  add_definitions(table, price, !std::isnan(forecasts.front().plus_minus.epoch));
  return table;
}

Table fit_table(const CostFit& fit) {
  Table table{
      .id = "model",
      .title = "The cost model",
      .columns = {{"figure", "figure", Show::text},
                  {"text", "value", Show::text},
                  {"value", "in SI units", Show::gigabytes},
                  {"relative_error", "error, %", Show::percent},
                  {"source", "from", Show::text}},
      .notes = {"A message of n bytes takes alpha + n beta; adding n bytes n gamma; forward, loss "
                "and backward of b images t0 + t1 b. beta and gamma are shown as rates.",
                "error: root of the mean square of (fitted - measured) / measured of what the two "
                "figures were fitted to."}};
  add_machine(table, fit);
  add_compute(table, fit);
  table.notes.insert(table.notes.end(), fit.notes.begin(), fit.notes.end());
  return table;
}

Table simulation_table(const std::vector<SimulatedSum>& sums, double noise) {
  Table table{.id = "simulation", .title = "The ring, message by message"};
  for (const SimulatedSum& sum : sums) {
    double ratio = kUnknown;
    if (sum.closed > 0) ratio = sum.noisy / sum.closed;
    table.add_fields({{"ranks", "P", Show::count, double(sum.ranks)},
                      {"messages", "messages in a row", Show::count, 2 * double(sum.ranks - 1)},
                      {"bytes", "bytes", Show::bytes, sum.bytes},
                      {"closed_seconds", "closed form, ms", Show::millis, sum.closed},
                      {"quiet_seconds", "simulated, ms", Show::millis, sum.quiet},
                      {"noisy_seconds", "with noise, ms", Show::millis, sum.noisy},
                      {"noisy_ratio", "noisy / closed", Show::ratio, ratio},
                      {"rings", "rings", Show::count, double(sum.rings)}});
  }
  table.notes.push_back(fmt::format(
      "Noise: each message takes (1 - {0:.3g}) of its mean and an exponentially distributed time "
      "of mean {0:.3g} of it. A rank that waits delays its neighbour; for many ranks the messages "
      "take {1:.3g} times as long. rings: how many were simulated; the table has their mean.",
      noise, 1 + noise));
  return table;
}

}  // namespace rueda::predict
