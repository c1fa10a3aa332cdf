#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "bench.hpp"
#include "commands/plotter.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "run/run_directory.hpp"
#include "session.hpp"
#include "table.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda {
namespace {

using namespace bench;

/// What has to be the same on all ranks.
std::string asked_text(const BenchAllReduceOptions& options) {
  std::string sizes;
  for (const Size& size : options.sizes) sizes += " " + std::to_string(size.bytes);
  return fmt::format(
      "--algorithms {}\n--sizes{}\n--repetitions {}\n--seconds {}\n--segment-kb {}\n"
      "--verify-messages {}\n--reduce-table {}\n--backend {}\n--wire {}",
      options.algorithm_words, sizes, options.repetitions, options.seconds, options.segment_kb,
      options.verify_messages ? "on" : "off", options.reduce_table,
      to_string(options.setup.backend), to_string(options.setup.wire));
}

/// One measurement of one rank.
class Bench {
 public:
  Bench(const BenchAllReduceOptions& options, const SelectedDevice& device)
      : options_(options),
        session_(options.setup, device, asked_text(options), options.sizes.back().bytes) {
    record_.system = session_.system();
    record_.segment_bytes = options.segment_kb * 1024;
    record_.verifies_messages = options.verify_messages;
    const ReduceSettings common = common_settings();
    for (const Entry& entry : options.entries) add(entry, common);
    session_.allocate();
  }

  Record run() {
    session_.print(table_head(record_));
    for (const Size& size : options_.sizes) run_size(size);
    return std::move(record_);
  }

 private:
  ReduceSettings common_settings() {
    ReduceSettings common;
    common.segment_bytes = record_.segment_bytes;
    common.wire = options_.setup.wire;
    common.verify_messages = record_.verifies_messages;
    if (options_.reduce_table.empty()) return common;
    const SystemInfo& system = record_.system;
    common.table = load_reduce_table(session_.world(), options_.reduce_table,
                                     {layout_of(system.hosts), system.backend, system.transport});
    record_.table_file = options_.reduce_table;
    record_.table_hash = rows_hash(common.table);
    return common;
  }

  /// One that this machine does not offer is left out if all were asked for, and else refused.
  void add(const Entry& entry, ReduceSettings settings) {
    settings.algorithm = entry.algorithm;
    settings.order = entry.order;
    const bool rounds = settings.wire != Wire::fp32 && settings.order == ReduceOrder::fixed;
    std::string refusal = "the fixed order goes over the wire in fp32 only";
    auto reduce = rounds ? nullptr : session_.try_all_reduce(settings, refusal);
    if (reduce) {
      names_.push_back(entry.name);
      reduces_.push_back(std::move(reduce));
    } else if (options_.entries.all) {
      record_.left_out.emplace_back(entry.name, refusal);
    } else {
      throw_agreed(ExitCode::bad_input, "--algorithms '" + entry.name + "': " + refusal);
    }
  }

  void run_size(const Size& size) {
    std::vector<AllReduce*> reduces;
    for (const auto& reduce : reduces_) reduces.push_back(reduce.get());
    auto seconds =
        session_.measure_all(reduces, size.bytes, {options_.repetitions, options_.seconds});
    std::vector<Row> rows;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      rows.push_back({size, names_[i], std::move(seconds[i])});
    }
    session_.print(table_rows(rows, record_.system.ranks()));
    std::move(rows.begin(), rows.end(), std::back_inserter(record_.rows));
  }

  const BenchAllReduceOptions& options_;
  BenchSession session_;
  Record record_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<AllReduce>> reduces_;  ///< of each name
};

/// Before anything is measured: a file that could not be written at the end is noticed at once.
void check_outputs(const BenchAllReduceOptions& options) {
  if (!speaks_for_all()) return;
  check_output_file("--json", options.json);
  check_output_file("--plot", options.plot);
  if (options.plot.empty()) return;
  check_plotter("--plot", "write --json and draw elsewhere with jobs/plot_all_reduce.py");
}

/// Not while MPI is up: its libraries do not bear new processes well.
void plot_record(const std::string& json, const std::string& file) {
  try {
    run_plot_script("plot_all_reduce", {file}, json);
  } catch (const Error& error) {
    throw RunError("--plot " + file + ": it could not be drawn: " + error.what());
  }
}

}  // namespace

int run_bench_all_reduce(const BenchAllReduceOptions& options) {
  std::string json;
  const int code = in_session(
      options.setup.backend, [&] { check_outputs(options); },
      [&](const SelectedDevice& device) { json = record_json(Bench(options, device).run()); });
  if (!speaks_for_all()) return code;
  if (!options.json.empty()) write_atomically(options.json, json);
  if (!options.plot.empty()) plot_record(json, options.plot);
  return code;
}

}  // namespace rueda
