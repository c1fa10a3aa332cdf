#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// For whoever reads the figures of a run of the timed backend, which `run.timed` is about.
std::string timed_text(const RunRecord& run);

}  // namespace rueda
