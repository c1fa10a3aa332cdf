#pragma once

#include <filesystem>
#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The trace of a run in the Chrome Trace Event Format, which Perfetto and chrome://tracing show:
/// a process for each rank, a row for each TraceLane; times in microseconds from the first span on,
/// on rank 0's clock, whose largest error is noted.
std::string to_trace_json(const RunRecord& run);
void write_trace(const std::filesystem::path& path, const RunRecord& run);

}  // namespace rueda
