#pragma once

#include <string>

#include "options.hpp"

namespace rueda {

/// `rueda bench all-reduce`: measures all-reduces on the ranks of the run; table, JSON and plot as
/// asked. Returns the exit code. Throws AlreadyReported for an error that all ranks agreed on,
/// InputError and RunError otherwise.
int run_bench_all_reduce(const BenchAllReduceOptions& options);

/// `rueda bench tune`: measures own algorithms and segment sizes on the ranks of the run, and
/// writes the table of the fastest to a file for training. Returns and throws as
/// run_bench_all_reduce.
int run_bench_tune(const BenchTuneOptions& options);

namespace bench {

/// `rueda bench explain`: who sends which chunk to whom at each step, what every rank holds after
/// it, and the bytes sent and the least possible. Needs no MPI.
std::string explain(const BenchExplainOptions& options);

}  // namespace bench
}  // namespace rueda
