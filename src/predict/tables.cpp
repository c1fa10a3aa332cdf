#include "rueda/predict/tables.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rueda/display/number_text.hpp"
#include "rueda/predict/quantities.hpp"

namespace rueda::predict {
namespace {

bool is_as_fitted(const std::optional<LinkFit>& fitted, const Link& used) {
  return fitted && used.alpha == fitted->link.alpha && used.beta == fitted->link.beta;
}

void add_link(Table& table, const std::string& where, const Link& link,
              const std::optional<LinkFit>& fitted) {
  const std::string source = is_as_fitted(fitted, link) ? fitted->source : "given";
  const double error = is_as_fitted(fitted, link) ? fitted->fit.typical_error : kUnknown;
  table.add({"alpha" + where, seconds_with_unit(link.alpha), link.alpha, error, source});
  table.add({"1 / beta" + where, rate_with_unit(1 / link.beta), link.beta, error, source});
}

void add_machine(Table& table, const CostFit& fit) {
  const Machine& machine = fit.model.machine;
  const MachineFit& fitted = fit.machine;
  if (machine.ranks_per_node == 1) {
    add_link(table, "", machine.between, fitted.between ? fitted.between : fitted.inside);
  } else {
    add_link(table, " inside nodes", machine.inside, fitted.inside);
    add_link(table, " between nodes", machine.between, fitted.between);
  }
  table.add({"1 / gamma", machine.gamma > 0 ? rate_with_unit(1 / machine.gamma) : "unknown",
             machine.gamma, kUnknown,
             fitted.gamma_rows > 0 ? counted(fitted.gamma_rows, "bucket") + " of runs" : ""});
}

void add_compute(Table& table, const CostFit& fit) {
  const ComputeModel& c = fit.model.compute;
  const double error = fit.compute ? fit.compute->fit.typical_error : kUnknown;
  const std::string source = fit.compute ? counted(fit.compute->runs, "run") : "given";
  const auto add = [&](const char* figure, double seconds, double relative_error) {
    table.add({figure, seconds_with_unit(seconds), seconds, relative_error, source});
  };
  add("t0", c.fixed, error);
  add("t1, an image", c.per_image, error);
  add("input, an image", c.input_per_image, kUnknown);
  add("update and other", c.update, kUnknown);
}

void add_errors(Table& table, const std::vector<Comparison>& comparisons) {
  std::vector<double> errors;
  for (const Comparison& c : comparisons) {
    if (!c.fitted) errors.push_back(100 * std::abs(c.error()));
  }
  if (errors.empty()) return;
  const Spread spread = spread_of(errors);
  table.notes.push_back(
      fmt::format("For the {} that the model was not fitted to, the epoch time is off by {:.1f} % "
                  "in the mean and {:.1f} % at most.",
                  counted(errors.size(), "run"), spread.mean, spread.max));
}

}  // namespace

Table fit_table(const CostFit& fit) {
  Table table{"model",
              "The cost model",
              {{"figure", "figure", Show::text},
               {"text", "value", Show::text},
               {"value", "in SI units", Show::gigabytes},
               {"relative_error", "error, %", Show::percent},
               {"source", "from", Show::text}}};
  add_machine(table, fit);
  add_compute(table, fit);
  table.notes.emplace_back(
      "A message of n bytes takes alpha + n beta; adding n bytes n gamma; forward, loss and "
      "backward of b images t0 + t1 b. beta and gamma are shown as rates.");
  table.notes.emplace_back(
      "error: root of the mean square of (fitted - measured) / measured of what the two figures "
      "were fitted to.");
  table.notes.insert(table.notes.end(), fit.notes.begin(), fit.notes.end());
  return table;
}

Table comparison_table(const std::vector<Comparison>& comparisons) {
  Table table{.id = "measured", .title = "Predicted and measured"};
  for (const Comparison& c : comparisons) {
    const StepForecast& step = c.forecast.full;
    const double waits = step.exposed + step.straggling;
    table.add_fields(
        {{"ranks", "P", Show::count, double(c.run->world_size())},
         {"global_batch", "batch", Show::count, double(c.run->global_batch)},
         {"overlap", "overlap", Show::text, c.run->overlaps ? "on" : "off"},
         {"fitted", "fitted", Show::text, c.fitted ? "yes" : "no"},
         {"measured_epoch_seconds", "epoch, s", Show::seconds, c.epoch_seconds},
         {"predicted_epoch_seconds", "predicted", Show::seconds, c.forecast.seconds},
         {"relative_error", "error, %", Show::percent, c.error()},
         {"measured_step_seconds", "step, ms", Show::millis, c.step_seconds},
         {"predicted_step_seconds", "predicted", Show::millis, step.seconds()},
         {"measured_exposed_seconds", "all_reduce, ms", Show::millis, c.exposed_seconds},
         {"predicted_exposed_seconds", "predicted", Show::millis, waits},
         {"run", "run", Show::text, c.run->file.parent_path().filename().string()}});
  }
  table.notes.emplace_back(
      "error: (predicted - measured) / measured epoch time. step: a full one, mean over ranks. "
      "all_reduce: how long it waited for the sum; predicted: straggling + exposed, since a mean "
      "rank waits for the slowest there. fitted: whether the model was fitted to this run.");
  add_errors(table, comparisons);
  return table;
}

Table loss_table(const std::vector<Loss>& losses) {
  Table table{.id = "loss", .title = "Measured epochs, and what explains their loss"};
  for (const Loss& loss : losses) {
    const bool several = loss.ranks > 1;  // one rank loses nothing
    const auto seconds = [&](double part) { return several ? part : kUnknown; };
    const auto share = [&](double part) {
      return several && loss.lost > 0 ? part / loss.lost : kUnknown;
    };
    const double partial = loss.partial_at_most;
    const double left = std::max(0.0, loss.lost - loss.all_reduce - partial);
    table.add_fields(
        {{"ranks", "P", Show::count, double(loss.ranks)},
         {"measured_seconds", "epoch, s", Show::seconds, loss.measured},
         {"efficiency", "eff., %", Show::percent, loss.efficiency},
         {"lost_seconds", "lost, s", Show::seconds, seconds(loss.lost)},
         {"all_reduce_seconds", "all-reduce, s", Show::seconds, seconds(loss.all_reduce)},
         {"all_reduce_share", "share, %", Show::percent, share(loss.all_reduce)},
         {"partial_at_most_seconds", "partial <=, s", Show::seconds, seconds(partial)},
         {"partial_at_most_share", "share, %", Show::percent, share(partial)},
         {"unexplained_seconds", "left >=, s", Show::seconds, seconds(left)}});
  }
  table.notes = {
      "lost: T(P) - T(1)/P. all-reduce: exposed communication of all steps, predicted. share: of "
      "lost. left: the rest.",
      "partial: the cost of the last, partial step beyond its share of images if it took as long "
      "as a full one; nothing if its time follows its images. Less the same on one rank, divided "
      "by P."};
  return table;
}

Table simulation_table(const std::vector<SimulatedSum>& sums, double noise) {
  Table table{.id = "simulation", .title = "The ring, message by message"};
  for (const SimulatedSum& sum : sums) {
    table.add_fields({{"ranks", "P", Show::count, double(sum.ranks)},
                      {"messages", "messages in a row", Show::count, 2 * double(sum.ranks - 1)},
                      {"bytes", "bytes", Show::bytes, sum.bytes},
                      {"closed_seconds", "closed form, ms", Show::millis, sum.closed},
                      {"quiet_seconds", "simulated, ms", Show::millis, sum.quiet},
                      {"noisy_seconds", "with noise, ms", Show::millis, sum.noisy},
                      {"noisy_ratio", "noisy / closed", Show::ratio,
                       sum.closed > 0 ? sum.noisy / sum.closed : kUnknown},
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
