#include <cmath>

#include "rows.hpp"
#include "rueda/study/tables.hpp"

namespace rueda {

Table communication_table(const std::vector<SeriesFigures>& all) {
  Table table{
      .id = "communication",
      .title = "Communication in an epoch, told in three ways",
      .columns = with_point({{"inferred_seconds", "inferred, s", Show::seconds},
                             {"inferred_same_batch_seconds", "same batch, s", Show::seconds},
                             {"measured_seconds", "measured, s", Show::seconds},
                             {"exposed_seconds", "exposed, s", Show::seconds},
                             {"wait_seconds", "waiting, s", Show::seconds},
                             {"transfer_seconds", "transfer, s", Show::seconds},
                             {"add_seconds", "adding, s", Show::seconds},
                             {"exposed_share", "exposed of epoch, %", Show::percent}}),
      .rows = {},
      .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const CommunicationFigures& c = f.communication;
    if (f.point->ranks == series.series->points.front().ranks) return;
    add_row(table, series, f,
            {c.inferred, c.inferred_same_batch, c.measured, c.exposed, c.wait, c.transfer, c.add,
             c.exposed / f.point->epoch.value});
  });
  table.notes = {
      "Inferred: T(P) - T(P0) P0/P: everything that is not perfect scaling, whatever its cause.",
      "Same batch: T(P) - T(1)/P against one rank at this rank's batch, where that was run: what "
      "small "
      "batches cost is taken out.",
      "Measured: time inside the all-reduce, hidden behind backward or not, mean over ranks; its "
      "parts "
      "are waiting for ranks that began later, transfer, and adding.",
      "Exposed: what the steps really waited for it."};
  return table;
}

Table bandwidth_table(const std::vector<SeriesFigures>& all) {
  Table table{.id = "bandwidth",
              .title = "Bandwidth of the all-reduce",
              .columns = with_point({{"steps", "steps of an epoch", Show::count},
                                     {"bytes_per_step", "a step sums", Show::bytes},
                                     {"algbw_GBps", "algbw, GB/s", Show::gigabytes},
                                     {"busbw_GBps", "busbw, GB/s", Show::gigabytes},
                                     {"link_busbw_GBps", "of transfer, GB/s", Show::gigabytes}}),
              .rows = {},
              .notes = {}};
  for_points(all, [&](const SeriesFigures& series, const PointFigures& f) {
    const CommunicationFigures& c = f.communication;
    if (!std::isfinite(c.busbw)) return;
    add_row(table, series, f,
            {double(f.point->steps), c.bytes_per_step, c.algbw, c.busbw, c.link_busbw});
  });
  table.notes = {
      "GB = 10^9 bytes. algbw = bytes summed in a step / the slowest rank's time inside the "
      "all-reduce, "
      "which includes waiting for later ranks; busbw = algbw x 2(P-1)/P, comparable with a link.",
      "Of transfer: 2(P-1)/P x bytes / the mean time in messages alone, without waiting and "
      "adding: "
      "what the link did."};
  return table;
}

}  // namespace rueda
