#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The text before the first epoch: model, data, a line per rank, batches, learning rate,
/// optimizer, all-reduce, run directory. From nine ranks on, ranks that differ only in their number
/// share a line; if these are more than eight lines, hosts share lines too.
std::string start_block(const RunRecord& run);

/// The text at the end of a run: epochs, the time of a step by phases (steady epochs, full steps),
/// start-up, totals, communication, files, definitions. Leaves out what a run without a finished
/// epoch does not have.
std::string result_table(const RunRecord& run);

/// How to resume a run that was asked to stop.
std::string stop_text(const RunRecord& run);

/// The input mode of a run, and which threads make its batches: a line of both texts.
std::string input_mode_text(const TrainConfig& config);

/// A warning for readers of a run of the timed backend: what was timed, and that nothing was
/// computed. Stands in both texts.
std::string timed_text(const RunRecord& run);

}  // namespace rueda
