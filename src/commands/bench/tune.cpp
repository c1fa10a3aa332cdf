#include "tune.hpp"

#include <algorithm>
#include <iostream>

#include "choice.hpp"
#include "entrants.hpp"
#include "rueda/core/atomic_file.hpp"
#include "rueda/core/error.hpp"
#include "rueda/display/number_text.hpp"
#include "run/output_file.hpp"
#include "table.hpp"
#include "wiring/launcher_env.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda {
namespace {

using namespace bench;

std::string asked_text(const BenchTuneOptions& options) {
  return "--algorithms " + options.algorithm_words + "\n--segments-kb " + options.segment_words +
         "\n--most " + options.most + "\n--seconds " + std::to_string(options.seconds) +
         "\n--backend " + to_string(options.place.backend) + "\n--wire " +
         to_string(options.place.wire);
}

/// A way to sum that is to be had here.
struct Candidate {
  ReduceWay way;
  Entrant entrant;
};

/// The measurement of one rank.
class Tuning {
 public:
  Tuning(const BenchTuneOptions& options, const SelectedDevice& device)
      : options_(options),
        stage_(options.place, device, asked_text(options)),
        lengths_(tuned_lengths(options.most_bytes)) {
    for (const ReduceWay& way : ways()) add_candidate(way);
    if (candidates_.empty()) {
      throw_agreed(ExitCode::bad_input,
                   "--algorithms: none of them is to be had here:" + left_out_);
    }
    together(stage_.world(), [&] { buffer_ = make_buffer(stage_.backend(), lengths_.back()); });
  }

  std::string run() {
    say(introduction());
    for (const std::size_t bytes : lengths_) measure_length(bytes);
    const ReduceTable table = choose_table(trials_);
    say(conclusion(table));
    return table_file_text(stage_.scene(), table, trials_);
  }

 private:
  std::vector<ReduceWay> ways() const {
    std::vector<Algorithm> algorithms;
    for (const Entry& entry : options_.entries) algorithms.push_back(entry.algorithm);
    return tuned_ways(algorithms, options_.segments);
  }

  /// The way is named twice: as the algorithm, and as the only row of a table, because 0 as a
  /// segment size means "as the table has it".
  void add_candidate(const ReduceWay& way) {
    ReduceSettings settings{.algorithm = way.algorithm,
                            .segment_bytes = way.segment_bytes,
                            .wire = options_.place.wire,
                            .table = {{{.way = way}}}};
    std::string refusal;
    auto reduce = try_all_reduce(stage_, settings, lengths_.back() / sizeof(float), refusal);
    if (reduce) {
      candidates_.push_back({way, make_entrant(stage_, way_text(way), std::move(reduce))});
    } else if (way.segment_bytes == 0) {
      left_out_ += "\n  " + refusal;
    }
  }

  std::string introduction() const {
    std::string text = "rueda bench tune: " + ranks_text(stage_.scene().hosts) + ", " +
                       std::to_string(lengths_.size()) + " lengths from 16 B to " +
                       bytes_text(static_cast<double>(lengths_.back())) + ", " +
                       std::to_string(candidates_.size()) + " ways to sum, about " +
                       setting_text(options_.seconds) + " s at most\n";
    if (!left_out_.empty()) text += "left out, because not to be had here:" + left_out_ + '\n';
    return text + "memory: " + stage_.scene().device + "; to MPI: " + stage_.scene().transport +
           "\n\n";
  }

  void measure_length(std::size_t bytes) {
    const std::size_t floats = bytes / sizeof(float);
    std::vector<Contestant> contestants;
    std::vector<ReduceWay> ways;
    for (const Candidate& candidate : candidates_) {
      if (!is_distinct(candidate.way, bytes, stage_.scene().ranks())) continue;
      contestants.push_back(contestant_of(candidate.entrant, *buffer_, floats));
      ways.push_back(candidate.way);
    }
    const Ground ground{stage_.world(), stage_.backend().reduce_device(), options_.place.wire};
    const double share = options_.seconds / static_cast<double>(lengths_.size());
    auto seconds = measure(ground, contestants, floats, {.seconds = share});
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < ways.size(); ++i) trials.push_back({bytes, ways[i], seconds[i]});
    say(length_text(trials));
    std::move(trials.begin(), trials.end(), std::back_inserter(trials_));
  }

  /// The ways from the fastest to the slowest, with their medians.
  static std::string length_text(std::vector<Trial> trials) {
    std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
      return median_of(a.seconds) < median_of(b.seconds);
    });
    std::string text = bytes_text(static_cast<double>(trials.front().bytes)) + ":";
    for (const Trial& trial : trials) {
      text += "\n  " + rate_text(median_of(trial.seconds) * 1e3) + " ms  " + way_text(trial.way);
    }
    return text + '\n';
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

  void say(const std::string& text) const {
    if (stage_.speaks()) std::cout << text << std::flush;
  }

  const BenchTuneOptions& options_;
  Stage stage_;
  std::vector<std::size_t> lengths_;
  std::vector<Candidate> candidates_;
  std::string left_out_;  ///< a line each
  std::unique_ptr<Buffer> buffer_;
  std::vector<Trial> trials_;
};

}  // namespace

int run_bench_tune(const BenchTuneOptions& options) {
  const auto check = [&] {
    if (speaks_for_all()) check_output_file("--out", options.out);
  };
  return in_session(options.place.backend, check, [&](const SelectedDevice& device) {
    Tuning tuning(options, device);
    const std::string text = tuning.run();
    if (speaks_for_all()) write_atomically(options.out, text);
  });
}

}  // namespace rueda
