#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"
#include "commands/bench/bench.hpp"
#include "commands/doctor/doctor.hpp"
#include "commands/predict/predict.hpp"
#include "commands/report/report.hpp"
#include "rueda/core/error.hpp"
#include "run/log.hpp"
#include "run/train.hpp"
#include "wiring/launcher_env.hpp"

namespace {

using rueda::ExitCode;

/// Dispatches a request; one overload per subcommand.
struct Runner {
  std::string command_line;

  int operator()(const rueda::PrintText& print) const {
    if (rueda::speaks_for_all()) std::cout << print.text;
    return 0;
  }
  int operator()(const rueda::TrainConfig& config) const {
    return rueda::run_train(config, command_line);
  }
  int operator()(const rueda::SummaryOptions& options) const {
    if (rueda::speaks_for_all()) rueda::run_summary(options, std::cout);
    return 0;
  }
  int operator()(const rueda::DoctorOptions& options) const { return rueda::run_doctor(options); }
  int operator()(const rueda::BenchAllReduceOptions& options) const {
    return rueda::run_bench_all_reduce(options);
  }
  int operator()(const rueda::BenchTuneOptions& options) const {
    return rueda::run_bench_tune(options);
  }
  int operator()(const rueda::BenchExplainOptions& options) const {
    const std::string text = rueda::bench::explain(options);
    if (rueda::speaks_for_all()) std::cout << text;
    return 0;
  }
  int operator()(const rueda::PredictOptions& options) const {
    if (rueda::speaks_for_all()) rueda::run_predict(options, std::cout);
    return 0;
  }
  int operator()(const rueda::ReportOptions& options) const {
    if (rueda::speaks_for_all()) rueda::run_report(options, std::cout);
    return 0;
  }
  int operator()(const rueda::SynthRequest& request) const {
    if (rueda::speaks_for_all()) rueda::run_synth(request, std::cout);
    return 0;
  }
};

/// The argument as a shell would take it back.
std::string shell_word(std::string_view argument) {
  const auto plain = [](char c) {
    return std::string_view("_-./:=,+@%").find(c) != std::string_view::npos ||
           (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  bool as_it_is = !argument.empty();
  std::string text = "'";
  for (const char c : argument) {
    as_it_is = as_it_is && plain(c);
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return as_it_is ? std::string(argument) : text + "'";
}

/// Where one rank alone has a faulty command line, the others must not wait for it, and the user
/// must see the error.
rueda::Request parse(const std::vector<std::string>& arguments) {
  try {
    return rueda::parse_command_line(arguments);
  } catch (const rueda::Error& error) {
    const std::string command = arguments.empty() ? "" : arguments.front();
    const bool needs_all = command == "train" || command == "bench";
    if (needs_all && rueda::has_peers()) rueda::refuse_train(error);
    throw;
  }
}

int run(const std::vector<std::string>& words) {
  Runner runner;
  for (const std::string& word : words)
    runner.command_line += (runner.command_line.empty() ? "" : " ") + shell_word(word);
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  return std::visit(runner, parse(arguments));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv, argv + argc});
  } catch (const rueda::AlreadyReported& reported) {
    return static_cast<int>(reported.code);
  } catch (const rueda::Error& error) {
    if (rueda::speaks_for_all()) rueda::print_error(error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    // Nothing says that an unexpected error is the same on all ranks: each prints its own.
    rueda::print_error("unexpected failure on rank " + std::to_string(rueda::rank_by_launcher()) +
                       ": " + error.what());
    return static_cast<int>(ExitCode::run_failed);
  }
}
