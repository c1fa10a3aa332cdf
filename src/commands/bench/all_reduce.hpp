#pragma once

#include "options.hpp"

namespace rueda {

/// Measures all-reduces on the ranks of the run; table, JSON and plot as asked. Returns the exit
/// code; throws AlreadyReported for what all ranks agreed on, and InputError and RunError else.
int run_bench_all_reduce(const BenchAllReduceOptions& options);

}  // namespace rueda
