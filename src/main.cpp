#include <algorithm>
#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "commands/bench/bench.hpp"
#include "commands/reader.hpp"
#include "launch/launcher.hpp"
#include "launch/machine.hpp"
#include "launch/stop_signals.hpp"
#include "run/job.hpp"
#include "run/train.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

void run_command(const PrintText& print, std::ostream& out) { out << print.text; }

// Commands of all ranks return their exit code.
int run_request(const TrainConfig& config, const std::string& command_line) {
  return run_train(config, command_line);
}
int run_request(const DoctorOptions& options, const std::string&) { return run_doctor(options); }
int run_request(const EvaluateOptions& options, const std::string&) {
  return run_evaluate(options);
}
int run_request(const BenchAllReduceOptions& options, const std::string&) {
  return run_bench_all_reduce(options);
}

// Those of one process print on one of the processes that were started.
int run_request(const WatchOptions& options, const std::string&) {
  if (speaks_for_all()) run_command(options, std::cout);  // which draws screens
  return 0;
}
template <typename Options>
int run_request(const Options& options, const std::string&) {
  if (!speaks_for_all()) return 0;
  std::ostringstream text;
  try {
    run_command(options, text);
  } catch (const RunError&) {
    std::cout << harmless(text.str()) << std::flush;  // what was found before
    throw;
  }
  std::cout << harmless(text.str());
  return 0;
}

int dispatch(const Request& request, const std::string& command_line) {
  return std::visit([&](const auto& options) { return run_request(options, command_line); },
                    request);
}

/// Where one rank alone has a faulty command line, the others must not wait for
/// it, and the user must see the error.
Request parse(const std::vector<std::string>& arguments) {
  try {
    return parse_command_line(arguments);
  } catch (const Error& error) {
    std::string command;
    if (!arguments.empty()) command = arguments.front();
    const bool needs_all = command == "train" || command == "bench" || command == "evaluate";
    if (needs_all && has_peers()) refuse_job(error);
    throw;
  }
}

/// "rueda help train" as "rueda train --help".
std::vector<std::string> with_help_last(std::vector<std::string> words) {
  if (words.size() < 2 || words[1] != "help") return words;
  words.erase(words.begin() + 1);
  words.emplace_back("--help");
  return words;
}

int run(const std::vector<std::string>& words) {
  if (words.size() > 1 && is_readers_command(words[1])) {
    if (!speaks_for_all()) return 0;
    become_reader({words.begin() + 1, words.end()});
  }
  // A person who tries the program wants its help; to a script a missing command stays an error.
  if (words.size() == 1 && speaks_for_all())
    std::cerr << harmless(std::get<PrintText>(parse({"--help"})).text) << '\n';
  std::vector<std::string> shown;
  std::ranges::transform(words, std::back_inserter(shown), shell_word);
  const std::string command_line = fmt::format("{}", fmt::join(shown, " "));
  return dispatch(parse({words.begin() + 1, words.end()}), command_line);
}

}  // namespace
}  // namespace rueda

int main(int argc, char** argv) {
  if (argc > 0) rueda::take_program_name(argv[0]);
  rueda::widen_default_binding(argv);
  rueda::let_large_writes_fail();
  try {
    const int code = rueda::run(rueda::with_help_last({argv, argv + argc}));
    if (std::cout.flush()) return code;
    throw rueda::RunError("the output could not be written: look at where it goes");
  } catch (const rueda::AlreadyReported& reported) {
    return int(reported.code);
  } catch (const rueda::Error& error) {
    if (rueda::speaks_for_all()) rueda::print_error(error.what());
    return int(error.code());
  } catch (const std::exception& error) {
    // Nothing says that an unexpected error is the same on all ranks: each prints its own.
    rueda::print_error("unexpected failure on rank " + std::to_string(rueda::rank_by_launcher()) +
                       ": " + error.what());
    return int(rueda::ExitCode::run_failed);
  }
}
