#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "commands/bench/options.hpp"

namespace rueda {

/// What `rueda bench` may ask for.
struct BenchLine {
  BenchAllReduceOptions all_reduce;
  BenchTuneOptions tune;
  BenchExplainOptions explain;
};

/// Gives the command `bench` its own commands and their options, which go to `line`.
void add_bench_commands(CLI::App& bench, BenchLine& line);

}  // namespace rueda
