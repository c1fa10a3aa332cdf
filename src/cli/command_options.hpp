#pragma once

#include <CLI/CLI.hpp>

#include "commands/bench/bench.hpp"
#include "commands/predict/predict.hpp"
#include "commands/report/report.hpp"

namespace rueda {

/// What `rueda bench` can be asked for.
struct BenchLine {
  BenchAllReduceOptions all_reduce;
  BenchTuneOptions tune;
  BenchExplainOptions explain;
};

/// Gives the command `bench` its own commands and their options, which go to `line`.
void add_bench_commands(CLI::App& bench, BenchLine& line);

void add_predict_options(CLI::App& command, PredictOptions& options);

void add_report_options(CLI::App& command, ReportOptions& options);

}  // namespace rueda
