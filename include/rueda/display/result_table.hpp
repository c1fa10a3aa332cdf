#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The text at the end of a run: epochs, the time of a step by phases (steady epochs, full steps),
/// start-up, totals, communication, files, definitions. Leaves out what a run without a finished
/// epoch does not have.
std::string result_table(const RunRecord& run);

/// How to resume a run that was asked to stop.
std::string stop_text(const RunRecord& run);

}  // namespace rueda
