#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The time of a steady full step by phases, in milliseconds; that of partial steps if there are no
/// full ones. Empty without a finished epoch.
std::string time_table(const RunRecord& run);

/// Start-up item by item, in seconds. Empty if nothing was measured.
std::string startup_table(const RunRecord& run);

/// The input mode, and the work on batches during the same steps, hidden or not.
std::string input_text(const RunRecord& run);

/// One sentence on the all-reduce of the same steps. Empty on one rank or without an epoch.
std::string communication_text(const RunRecord& run);

/// Minimum, mean and maximum of what the GPUs reported, over samples and ranks, and the energy of
/// the training. Empty if they reported nothing.
std::string device_table(const RunRecord& run);

/// One sentence where the steps wait for the all-reduce for more than 10 % of their time and
/// `--all-reduce auto` takes another one here; else empty.
std::string all_reduce_advice(const RunRecord& run);

}  // namespace rueda
