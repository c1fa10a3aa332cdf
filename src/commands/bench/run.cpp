#include <algorithm>
#include <iterator>
#include <ranges>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "commands/bench/session.hpp"
#include "commands/reader.hpp"
#include "display/text.hpp"
#include "launch/launcher.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

using namespace bench;

constexpr const char* kPlotScript = "plot_all_reduce";

/// What has to be the same on all ranks, one option a line.
std::string asked_text(const BenchAllReduceOptions& options) {
  const TrainConfig& setup = options.train;
  return fmt::format(
      "--algorithms {}\n--sizes {}\n--repetitions {}\n--seconds {}\n--segment-kb {}\n"
      "--verify-messages {}\n--backend {}\n--wire {}",
      options.algorithm_words, fmt::join(options.sizes | std::views::transform(&Size::bytes), " "),
      options.repetitions, options.seconds, setup.sums.segment_kb,
      setup.checks.verify_messages ? "on" : "off", to_string(setup.device.backend),
      to_string(setup.sums.wire));
}

/// `rueda bench all-reduce` on one rank.
class Bench {
 public:
  Bench(const BenchAllReduceOptions& options, Job& job)
      : options_(options), session_(job, options.train, options.sizes.back().bytes) {
    const ReduceSettings common = reduce_settings(options.train);
    record_.system = session_.system();
    record_.segment_bytes = common.segment_bytes;
    record_.verifies_messages = common.verify_messages;
    for (const Entry& entry : options.entries) add(entry, common);
    record_.choice = session_.choice();
    session_.allocate();
  }

  Record run() {
    session_.print(table_head(record_));
    for (const Size& size : options_.sizes) {
      auto rows = session_.measure(size, {options_.repetitions, options_.seconds});
      session_.print(table_rows(rows, record_.system.ranks()));
      std::ranges::move(rows, std::back_inserter(record_.rows));
    }
    return std::move(record_);
  }

 private:
  /// One that this machine does not offer is left out if all were asked for, and else refused.
  void add(const Entry& entry, ReduceSettings settings) {
    settings.algorithm = entry.algorithm;
    settings.order = entry.order;
    std::string refusal = "the fixed order goes over the wire in fp32 only";
    if (settings.wire == Wire::fp32 || settings.order != ReduceOrder::fixed)
      refusal = session_.add(entry.name, settings);
    if (refusal.empty()) return;
    require_agreed(options_.algorithm_words == kAllWords,
                   "--algorithms '" + entry.name + "': " + refusal);
    record_.left_out.emplace_back(entry.name, refusal);
  }

  const BenchAllReduceOptions& options_;
  BenchSession session_;
  Record record_;
};

}  // namespace

int run_bench_all_reduce(const BenchAllReduceOptions& options) {
  // Before anything is measured: a file that could not be written at the end is noticed at once.
  const auto prepare = [&] {
    check_output_file("--json", options.json);
    check_plot(kPlotScript, options.plot);
  };
  const JobRequest request{.config = options.train,
                           .what = "what the benchmark was asked for",
                           .asked = asked_text(options),
                           .prepare = prepare};
  std::string json;
  const int code = run_job(request, [&](Job& job) {
    json = record_json(Bench(options, job).run());
    return ExitCode::done;
  });
  if (!speaks_for_all()) return code;
  if (!options.json.empty()) write_output(options.json, json);
  draw_plot(kPlotScript, options.plot, json);
  return code;
}

}  // namespace rueda
