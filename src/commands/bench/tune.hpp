#pragma once

#include "options.hpp"

namespace rueda {

/// Measures own algorithms and segment sizes on the ranks of the run, and writes the table of the
/// fastest to a file that training goes by. Returns and throws as run_bench_all_reduce.
int run_bench_tune(const BenchTuneOptions& options);

}  // namespace rueda
