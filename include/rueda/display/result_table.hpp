#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// What is printed at the end: the epochs, where the time of a step went (steady epochs, full
/// steps), start-up, totals, communication, and where the files lie; definitions below. A record
/// without a finished epoch gives what there is.
std::string result_table(const RunRecord& run);

/// Where the checkpoint of a run lies that was asked to stop, and how to go on.
std::string stop_text(const RunRecord& run);

}  // namespace rueda
