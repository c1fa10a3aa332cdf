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
  const std::string gamma_source =
      fitted.gamma_rows > 0 ? fmt::format("{} of runs", counted(fitted.gamma_rows, "bucket")) : "";
  table.add({std::string("1 / gamma"),
             machine.gamma > 0 ? rate_with_unit(1 / machine.gamma) : std::string("not told"),
             machine.gamma, kUnknown, gamma_source});
}

void add_compute(Table& table, const CostFit& fit) {
  const ComputeModel& c = fit.model.compute;
  const double error = fit.compute ? fit.compute->fit.typical_error : kUnknown;
  const std::string source = fit.compute ? counted(fit.compute->runs, "run") : std::string("given");
  table.add({std::string("t0"), seconds_with_unit(c.fixed), c.fixed, error, source});
  table.add(
      {std::string("t1, an image"), seconds_with_unit(c.per_image), c.per_image, error, source});
  table.add({std::string("input, an image"), seconds_with_unit(c.input_per_image),
             c.input_per_image, kUnknown, source});
  table.add(
      {std::string("update and other"), seconds_with_unit(c.update), c.update, kUnknown, source});
}

void add_errors(Table& table, const std::vector<Comparison>& comparisons) {
  double sum = 0;
  double worst = 0;
  double count = 0;
  for (const Comparison& c : comparisons) {
    if (c.fitted) continue;
    sum += std::abs(c.error());
    worst = std::max(worst, std::abs(c.error()));
    count += 1;
  }
  if (count == 0) return;
  table.notes.push_back(
      fmt::format("Of the {} that nothing was fitted to, the epoch time is off by {:.1f} % in the "
                  "mean and {:.1f} "
                  "% at most.",
                  counted(static_cast<std::size_t>(count), "run"), 100 * sum / count, 100 * worst));
}

}  // namespace

Table fit_table(const CostFit& fit) {
  Table table{"model",
              "The cost model",
              {{"figure", "figure", Show::text},
               {"text", "value", Show::text},
               {"value", "in SI units", Show::gigabytes},
               {"relative_error", "error, %", Show::percent},
               {"source", "from", Show::text}},
              {},
              {}};
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
  Table table{"measured",
              "Predicted beside measured",
              {{"ranks", "P", Show::count},
               {"global_batch", "batch", Show::count},
               {"overlap", "overlap", Show::text},
               {"fitted", "fitted", Show::text},
               {"measured_epoch_seconds", "epoch, s", Show::seconds},
               {"predicted_epoch_seconds", "predicted", Show::seconds},
               {"relative_error", "error, %", Show::percent},
               {"measured_step_seconds", "step, ms", Show::millis},
               {"predicted_step_seconds", "predicted", Show::millis},
               {"measured_exposed_seconds", "all_reduce, ms", Show::millis},
               {"predicted_exposed_seconds", "predicted", Show::millis},
               {"run", "run", Show::text}},
              {},
              {}};
  for (const Comparison& c : comparisons) {
    const StepForecast& step = c.forecast.full;
    table.add({static_cast<double>(c.run->world_size()), static_cast<double>(c.run->global_batch),
               std::string(c.run->overlaps ? "on" : "off"), std::string(c.fitted ? "yes" : "no"),
               c.epoch_seconds, c.forecast.seconds, c.error(), c.step_seconds, step.seconds(),
               c.exposed_seconds, step.exposed + step.straggling,
               c.run->file.parent_path().filename().string()});
  }
  table.notes.emplace_back(
      "error: (predicted - measured) / measured epoch time. step: a full one, mean over ranks. "
      "all_reduce: what it waited for the sum; predicted: straggling + exposed, since a mean rank "
      "waits for the slowest there. fitted: whether the model was fitted to this run, too.");
  add_errors(table, comparisons);
  return table;
}

Table loss_table(const std::vector<Loss>& losses) {
  Table table{"loss",
              "Measured epochs, and what explains their loss",
              {{"ranks", "P", Show::count},
               {"measured_seconds", "epoch, s", Show::seconds},
               {"efficiency", "eff., %", Show::percent},
               {"lost_seconds", "lost, s", Show::seconds},
               {"all_reduce_seconds", "all-reduce, s", Show::seconds},
               {"all_reduce_share", "share, %", Show::percent},
               {"partial_at_most_seconds", "partial <=, s", Show::seconds},
               {"partial_at_most_share", "share, %", Show::percent},
               {"unexplained_seconds", "left >=, s", Show::seconds}},
              {},
              {}};
  for (const Loss& loss : losses) {
    const bool several = loss.ranks > 1;
    const auto of_loss = [&](double part) { return loss.lost > 0 ? part / loss.lost : kUnknown; };
    const double left = std::max(0.0, loss.lost - loss.all_reduce - loss.partial_at_most);
    table.add({static_cast<double>(loss.ranks), loss.measured, loss.efficiency,
               several ? loss.lost : kUnknown, several ? loss.all_reduce : kUnknown,
               several ? of_loss(loss.all_reduce) : kUnknown,
               several ? loss.partial_at_most : kUnknown,
               several ? of_loss(loss.partial_at_most) : kUnknown, several ? left : kUnknown});
  }
  table.notes.emplace_back(
      "lost: T(P) - T(1)/P. all-reduce: exposed communication of all steps, predicted. share: of "
      "lost. left: what neither explains.");
  table.notes.emplace_back(
      "partial: what the last, partial step cost beside its share of images if it took as long as "
      "a "
      "full "
      "one; if its time follows its images, nothing. Less the same on one rank, divided by P.");
  return table;
}

Table simulation_table(const std::vector<SimulatedSum>& sums, double noise) {
  Table table{"simulation",
              "The ring, message by message",
              {{"ranks", "P", Show::count},
               {"messages", "messages in a row", Show::count},
               {"bytes", "bytes", Show::bytes},
               {"closed_seconds", "closed form, ms", Show::millis},
               {"quiet_seconds", "simulated, ms", Show::millis},
               {"noisy_seconds", "with noise, ms", Show::millis},
               {"noisy_ratio", "noisy / closed", Show::ratio},
               {"rings", "rings", Show::count}},
              {},
              {}};
  for (const SimulatedSum& sum : sums) {
    table.add({static_cast<double>(sum.ranks), 2 * static_cast<double>(sum.ranks - 1), sum.bytes,
               sum.closed, sum.quiet, sum.noisy, sum.closed > 0 ? sum.noisy / sum.closed : kUnknown,
               static_cast<double>(sum.rings)});
  }
  table.notes.push_back(fmt::format(
      "Noise: each message takes (1 - {0:.3g}) of its mean for sure and on top of it an "
      "exponentially "
      "distributed time of mean {0:.3g} of it. Whoever waits hands the delay on; for many ranks "
      "the "
      "messages take {1:.3g} times as long. rings: simulated, of which the mean is shown.",
      noise, 1 + noise));
  return table;
}

}  // namespace rueda::predict
