#include <algorithm>
#include <iterator>
#include <ranges>

#include <fmt/ranges.h>

#include "commands/commands.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/display/text.hpp"
#include "run/run_directory.hpp"
#include "session.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda {
namespace {

using namespace bench;

constexpr const char* kPlotScript = "plot_all_reduce";

// What has to be the same on all ranks, one option a line.

std::string asked_text(const BenchAllReduceOptions& options) {
  return fmt::format(
      "--algorithms {}\n--sizes {}\n--repetitions {}\n--seconds {}\n--segment-kb {}\n"
      "--verify-messages {}\n--reduce-table {}",
      options.algorithm_words, fmt::join(options.sizes | std::views::transform(&Size::bytes), " "),
      options.repetitions, options.seconds, options.train.segment_kb,
      options.train.verify_messages ? "on" : "off", options.train.reduce_table);
}

std::string asked_text(const BenchTuneOptions& options) {
  return fmt::format("--algorithms {}\n--segments-kb {}\n--most {}\n--seconds {}",
                     options.algorithm_words, options.segment_words, options.most, options.seconds);
}

/// `rueda bench all-reduce` on one rank.
class Bench {
 public:
  Bench(const BenchAllReduceOptions& options, const SelectedDevice& device)
      : options_(options),
        session_(options.train, device, asked_text(options), options.sizes.back().bytes) {
    const ReduceSettings common = session_.settings(options.train);
    record_.system = session_.system();
    record_.segment_bytes = common.segment_bytes;
    record_.verifies_messages = common.verify_messages;
    record_.table_file = options.train.reduce_table;
    record_.table_hash = rows_hash(common.table);
    for (const Entry& entry : options.entries) add(entry, common);
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
    const bool rounds = settings.wire != Wire::fp32 && settings.order == ReduceOrder::fixed;
    const std::string refusal = rounds ? "the fixed order goes over the wire in fp32 only"
                                       : session_.add({entry.algorithm, 0}, entry.name, settings);
    if (refusal.empty()) return;
    require_agreed(options_.algorithm_words == kAllWords,
                   "--algorithms '" + entry.name + "': " + refusal);
    record_.left_out.emplace_back(entry.name, refusal);
  }

  const BenchAllReduceOptions& options_;
  BenchSession session_;
  Record record_;
};

/// The ways of one length from the fastest to the slowest, with their medians.
std::string length_text(std::vector<Row> trials) {
  std::ranges::stable_sort(trials, {}, [](const Row& trial) { return median_of(trial.seconds); });
  std::string text = bytes_text(trials.front().size.bytes) + ":";
  for (const Row& trial : trials)
    text += "\n  " + rate_text(median_of(trial.seconds) * 1e3) + " ms  " + trial.algorithm;
  return text + '\n';
}

/// `rueda bench tune` on one rank.
class TuneRun {
 public:
  TuneRun(const BenchTuneOptions& options, const SelectedDevice& device)
      : options_(options),
        lengths_(tuned_lengths(options.most_bytes)),
        session_(options.train, device, asked_text(options), lengths_.back()) {
    const auto algorithms = values_of(options_.entries, &Entry::algorithm);
    for (const ReduceWay& way : tuned_ways(algorithms, options_.segments)) add(way);
    require_agreed(session_.count() > 0,
                   "--algorithms: none of them is to be had here:" + left_out_);
    session_.allocate();
  }

  std::string run() {
    session_.print(introduction());
    for (const std::size_t bytes : lengths_) {
      auto trials =
          session_.measure({bytes}, {.seconds = options_.seconds / double(lengths_.size())});
      session_.print(length_text(trials));
      std::ranges::move(trials, std::back_inserter(trials_));
    }
    const ReduceTable table = choose_table(trials_);
    session_.print(conclusion(table));
    return table_file_text(session_.system(), table, trials_);
  }

 private:
  /// The way is named twice: as the algorithm, and as the only row of a table,
  /// because 0 as a segment size means "as the table has it".
  void add(const ReduceWay& way) {
    ReduceSettings settings{.algorithm = way.algorithm,
                            .segment_bytes = way.segment_bytes,
                            .wire = options_.train.wire,
                            .table = {{{.way = way}}}};
    const std::string refusal = session_.add(way, way_text(way), settings);
    if (!refusal.empty() && way.segment_bytes == 0) left_out_ += "\n  " + refusal;
  }

  std::string introduction() const {
    const SystemInfo& system = session_.system();
    std::string text = fmt::format(
        "rueda bench tune: {}, {} lengths from 16 B to {}, {} ways to sum, about {} s at most\n",
        ranks_text(system.hosts), lengths_.size(), bytes_text(lengths_.back()), session_.count(),
        setting_text(options_.seconds));
    if (!left_out_.empty()) text += "left out, because not to be had here:" + left_out_ + '\n';
    return text + "memory: " + system.device + "; to MPI: " + system.transport + "\n\n";
  }

  std::string conclusion(const ReduceTable& table) const {
    std::string text = "\ntable (rows " + rows_hash(table) + "):\n";
    for (const auto& row : table.rows) {
      const bool ends = &row != &table.rows.back();
      text += "  " + (ends ? "up to " + count_text(row.most_bytes) + " bytes: " : "above: ") +
              way_text(row.way) + '\n';
    }
    return text + "written to " + options_.out + "; use it with --reduce-table\n";
  }

  const BenchTuneOptions& options_;
  std::vector<std::size_t> lengths_;
  BenchSession session_;
  std::string left_out_;  ///< a line each
  std::vector<Row> trials_;
};

}  // namespace

int run_bench_all_reduce(const BenchAllReduceOptions& options) {
  // Before anything is measured: a file that could not be written at the end is noticed at once.
  const auto prepare = [&] {
    check_output_file("--json", options.json);
    check_plot(kPlotScript, options.plot);
  };
  std::string json;
  const int code = in_session(options.train.backend, prepare, [&](const SelectedDevice& device) {
    json = record_json(Bench(options, device).run());
  });
  if (!speaks_for_all()) return code;
  if (!options.json.empty()) write_output(options.json, json);
  draw_plot(kPlotScript, options.plot, json);
  return code;
}

int run_bench_tune(const BenchTuneOptions& options) {
  const auto prepare = [&] { check_output_file("--out", options.out); };
  return in_session(options.train.backend, prepare, [&](const SelectedDevice& device) {
    const std::string text = TuneRun(options, device).run();
    if (speaks_for_all()) write_output(options.out, text);
  });
}

}  // namespace rueda
