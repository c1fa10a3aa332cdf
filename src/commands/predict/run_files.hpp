#pragma once

#include <string>
#include <vector>

#include "rueda/study/run_result.hpp"

namespace rueda {

/// The runs that `places` name: a run.json, a directory with one, or a directory of such
/// directories, by name. Throws InputError naming a place without a run.
std::vector<RunResult> read_runs(const std::vector<std::string>& places);

}  // namespace rueda
