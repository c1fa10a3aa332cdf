#pragma once

#include <vector>

#include "study.hpp"
#include "study/figures.hpp"
#include "table.hpp"

namespace rueda {

/// The tables of a report, each with the definitions of its figures beneath; those that would have
/// no row are left out. docs/report.md shows them.
std::vector<Table> study_tables(const Study& study, const std::vector<SeriesFigures>& all);

/// The shortest answer, narrow enough for a terminal.
Table overview_table(const std::vector<SeriesFigures>& all);
/// Epoch time, throughput, speedup and efficiency of every point.
Table scaling_table(const std::vector<SeriesFigures>& all);
/// The step view: full steps alone.
Table step_table(const std::vector<SeriesFigures>& all);
/// Inferred, measured and exposed communication.
Table communication_table(const std::vector<SeriesFigures>& all);
/// Bytes and bandwidth of the all-reduce.
Table bandwidth_table(const std::vector<SeriesFigures>& all);
/// Milliseconds of a mean full step by phase.
Table phase_table(const std::vector<SeriesFigures>& all);
/// What the time lost beside ideal scaling consists of.
Table loss_table(const std::vector<SeriesFigures>& all);
/// Serial fractions: Amdahl, Karp-Flatt, Gustafson.
Table serial_table(const std::vector<SeriesFigures>& all);
/// How even the ranks were.
Table straggler_table(const std::vector<SeriesFigures>& all);
/// Device hours and energy.
Table cost_table(const std::vector<SeriesFigures>& all);
/// Start-up by item, and the first epoch beside the steady ones.
Table startup_table(const std::vector<SeriesFigures>& all);
/// Throughput over the batch, refused batches included.
Table batch_table(const Study& study, const std::vector<SeriesFigures>& all);
/// Every run, and every attempt that did not become one.
Table run_table(const Study& study);

}  // namespace rueda
