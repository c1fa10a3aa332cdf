#include <algorithm>
#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "commands/bench/bench.hpp"
#include "launch/machine.hpp"
#include "run/console.hpp"
#include "run/train.hpp"
#include "run/wiring/device_choice.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

void run_command(const PrintText& print, std::ostream& out) { out << print.text; }

int dispatch(const Request& request, const std::string& command_line) {
  return std::visit(
      Overloaded{
          [&](const TrainConfig& config) { return run_train(config, command_line); },
          [](const DoctorOptions& options) { return run_doctor(options); },
          [](const EvaluateOptions& options) { return run_evaluate(options); },
          [](const BenchAllReduceOptions& options) { return run_bench_all_reduce(options); },
          [](const auto& options) {  // of one process: prints on one of those that were started
            if (!speaks_for_all()) return 0;
            if constexpr (std::is_same_v<decltype(options), const WatchOptions&>)
              return run_command(options, std::cout), 0;  // draws screens
            std::ostringstream text;
            run_command(options, text);
            std::cout << harmless(text.str());
            return 0;
          },
      },
      request);
}

/// Where one rank alone has a faulty command line, the others must not wait for
/// it, and the user must see the error.
Request parse(const std::vector<std::string>& arguments) {
  try {
    return parse_command_line(arguments);
  } catch (const Error& error) {
    const std::string command = arguments.empty() ? "" : arguments.front();
    const bool needs_all = command == "train" || command == "bench" || command == "evaluate";
    if (needs_all && has_peers()) refuse_train(error);
    throw;
  }
}

int run(const std::vector<std::string>& words) {
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
  try {
    const int code = rueda::run({argv, argv + argc});
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
