#pragma once

#include <string>
#include <variant>
#include <vector>

#include "commands/bench/bench.hpp"
#include "commands/definitions.hpp"
#include "commands/doctor/doctor.hpp"
#include "commands/evaluate.hpp"
#include "commands/forecast/forecast.hpp"
#include "commands/summary.hpp"
#include "commands/synth.hpp"
#include "commands/watch.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Help or version text: to be printed, and nothing else done.
struct PrintText {
  std::string text;
};

/// What a command line asks for, with every default filled in and checked.
using Request = std::variant<PrintText, TrainConfig, SummaryOptions, SynthRequest, DoctorOptions,
                             EvaluateOptions, BenchAllReduceOptions, BenchExplainOptions,
                             BenchLayersOptions, WatchOptions, ForecastOptions, DefinitionsOptions>;

/// Reads the arguments after the program's name, and the recipe that they name.
/// Throws InputError with one message that also names the right --help.
Request parse_command_line(const std::vector<std::string>& arguments);

}  // namespace rueda
