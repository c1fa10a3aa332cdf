#pragma once

#include <vector>

#include "observation.hpp"
#include "study/figures.hpp"
#include "table.hpp"

namespace rueda {

/// The tables that tasks 10.3 to 10.7 of Torres, Supercomputing for Artificial Intelligence,
/// chapter 10, ask for: book_task_10_3 (CPU baseline), book_task_10_4 (acceleration),
/// book_task_10_5_ID and book_task_10_6_ID (a table like 10.1 and 10.2 for each series; 10.6 are
/// the models beside the first one), book_task_10_7_epoch_time, _throughput, _speedup, _efficiency
/// (all series side by side, as in figures 10.12 to 10.15). ID is that of the series. Only facts:
/// the judgement that the tasks ask for is the student's. A table without a row is left out.
std::vector<Table> book_layout(const std::vector<SeriesFigures>& all,
                               const std::vector<Observation>& observations);

/// Tables 1 to 3 of the homework on data parallelism of New York University, nyu_table_1_gN (time
/// and speedup), nyu_table_2_gN (compute and communication), nyu_table_3_gN (bandwidth
/// utilisation), and nyu_communication_gN with every figure behind them, the measured ones beside
/// the inferred ones where rueda ran it. N counts groups of series that differ in their batch only.
///
/// With T(P) the time of an epoch on P ranks and C the time of an epoch on one without loading of
/// data, on P ranks compute = C / P and communication = T(P) - C / P; bandwidth = 2 (P-1)/P x bytes
/// of a gradient x steps / communication, what a ring all-reduce sends in that time (Patarasuk and
/// Yuan, JPDC 69(2), 2009). Batches and ranks that were not run leave cells empty.
std::vector<Table> nyu_layout(const std::vector<SeriesFigures>& all);

}  // namespace rueda
