#include <algorithm>
#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "bench.hpp"
#include "choice.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/display/number_text.hpp"
#include "run/run_directory.hpp"
#include "session.hpp"
#include "table.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda {
namespace {

using namespace bench;

std::string asked_text(const BenchTuneOptions& options) {
  return fmt::format(
      "--algorithms {}\n--segments-kb {}\n--most {}\n--seconds {}\n--backend {}\n--wire {}",
      options.algorithm_words, options.segment_words, options.most, options.seconds,
      to_string(options.setup.backend), to_string(options.setup.wire));
}

/// The ways of one length from the fastest to the slowest, with their medians.
std::string length_text(std::vector<Trial> trials) {
  std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return median_of(a.seconds) < median_of(b.seconds);
  });
  std::string text = bytes_text(static_cast<double>(trials.front().bytes)) + ":";
  for (const Trial& trial : trials) {
    text += "\n  " + rate_text(median_of(trial.seconds) * 1e3) + " ms  " + way_text(trial.way);
  }
  return text + '\n';
}

/// The measurement of one rank.
class Tuning {
 public:
  Tuning(const BenchTuneOptions& options, const SelectedDevice& device)
      : options_(options),
        lengths_(tuned_lengths(options.most_bytes)),
        session_(options.setup, device, asked_text(options), lengths_.back()) {
    std::vector<Algorithm> algorithms;
    for (const Entry& entry : options_.entries) algorithms.push_back(entry.algorithm);
    for (const ReduceWay& way : tuned_ways(algorithms, options_.segments)) add(way);
    if (ways_.empty()) {
      throw_agreed(ExitCode::bad_input,
                   "--algorithms: none of them is to be had here:" + left_out_);
    }
    session_.allocate();
  }

  std::string run() {
    session_.print(introduction());
    for (const std::size_t bytes : lengths_) measure_length(bytes);
    const ReduceTable table = choose_table(trials_);
    session_.print(conclusion(table));
    return table_file_text(session_.system(), table, trials_);
  }

 private:
  /// The way is named twice: as the algorithm, and as the only row of a table, because 0 as a
  /// segment size means "as the table has it".
  void add(const ReduceWay& way) {
    ReduceSettings settings{.algorithm = way.algorithm,
                            .segment_bytes = way.segment_bytes,
                            .wire = options_.setup.wire,
                            .table = {{{.way = way}}}};
    std::string refusal;
    if (auto reduce = session_.try_all_reduce(settings, refusal)) {
      ways_.push_back(way);
      reduces_.push_back(std::move(reduce));
    } else if (way.segment_bytes == 0) {
      left_out_ += "\n  " + refusal;
    }
  }

  std::string introduction() const {
    const SystemInfo& system = session_.system();
    std::string text = fmt::format(
        "rueda bench tune: {}, {} lengths from 16 B to {}, {} ways to sum, about {} s at most\n",
        ranks_text(system.hosts), lengths_.size(), bytes_text(static_cast<double>(lengths_.back())),
        ways_.size(), setting_text(options_.seconds));
    if (!left_out_.empty()) text += "left out, because not to be had here:" + left_out_ + '\n';
    return text + "memory: " + system.device + "; to MPI: " + system.transport + "\n\n";
  }

  void measure_length(std::size_t bytes) {
    std::vector<Trial> trials;
    std::vector<AllReduce*> reduces;
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      if (!is_distinct(ways_[i], bytes, session_.system().ranks())) continue;
      trials.push_back({bytes, ways_[i], {}});
      reduces.push_back(reduces_[i].get());
    }
    const double share = options_.seconds / static_cast<double>(lengths_.size());
    auto seconds = session_.measure_all(reduces, bytes, {.seconds = share});
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].seconds = std::move(seconds[i]);
    session_.print(length_text(trials));
    std::move(trials.begin(), trials.end(), std::back_inserter(trials_));
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
  std::vector<ReduceWay> ways_;                      ///< that this machine offers
  std::vector<std::unique_ptr<AllReduce>> reduces_;  ///< of each way
  std::string left_out_;                             ///< a line each
  std::vector<Trial> trials_;
};

}  // namespace

int run_bench_tune(const BenchTuneOptions& options) {
  const auto check = [&] {
    if (speaks_for_all()) check_output_file("--out", options.out);
  };
  return in_session(options.setup.backend, check, [&](const SelectedDevice& device) {
    const std::string text = Tuning(options, device).run();
    if (speaks_for_all()) write_atomically(options.out, text);
  });
}

}  // namespace rueda
