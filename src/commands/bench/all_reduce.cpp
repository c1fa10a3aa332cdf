#include "all_reduce.hpp"

#include <algorithm>
#include <iostream>

#include "entrants.hpp"
#include "plot.hpp"
#include "record_json.hpp"
#include "rueda/core/atomic_file.hpp"
#include "run/output_file.hpp"
#include "stage.hpp"
#include "table.hpp"
#include "wiring/launcher_env.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda {
namespace {

using namespace bench;

/// What has to be the same on all ranks.
std::string asked_text(const BenchAllReduceOptions& options) {
  std::string text = "--algorithms " + options.algorithm_words + "\n--sizes";
  for (const Size& size : options.sizes) text += " " + std::to_string(size.bytes);
  text += "\n--repetitions " + std::to_string(options.repetitions);
  text += "\n--seconds " + std::to_string(options.seconds);
  text += "\n--segment-kb " + std::to_string(options.segment_kb);
  text += std::string("\n--verify-messages ") + (options.verify_messages ? "on" : "off");
  text += "\n--reduce-table " + options.reduce_table;
  text += "\n--backend " + std::string(to_string(options.place.backend));
  return text + "\n--wire " + to_string(options.place.wire);
}

/// One measurement of one rank.
class Bench {
 public:
  Bench(const BenchAllReduceOptions& options, const SelectedDevice& device)
      : options_(options), stage_(options.place, device, asked_text(options)) {
    record_.scene = stage_.scene();
    record_.segment_bytes = options.segment_kb * 1024;
    record_.verifies_messages = options.verify_messages;
    const std::size_t most = options.sizes.back().bytes;
    Field field = make_field(stage_, options.entries, settings(), most / sizeof(float));
    entrants_ = std::move(field.entrants);
    record_.left_out = std::move(field.left_out);
    together(stage_.world(), [&] { buffer_ = make_buffer(stage_.backend(), most); });
  }

  Record run() {
    say(table_head(record_));
    for (const Size& size : options_.sizes) run_size(size);
    return std::move(record_);
  }

 private:
  ReduceSettings settings() {
    ReduceSettings common;
    common.segment_bytes = record_.segment_bytes;
    common.wire = options_.place.wire;
    common.verify_messages = record_.verifies_messages;
    if (options_.reduce_table.empty()) return common;
    common.table = load_reduce_table(
        stage_.world(), options_.reduce_table,
        {layout_of(stage_.scene().hosts), stage_.scene().backend, stage_.scene().transport});
    record_.table_file = options_.reduce_table;
    record_.table_hash = rows_hash(common.table);
    return common;
  }

  void run_size(const Size& size) {
    const std::size_t floats = size.bytes / sizeof(float);
    std::vector<Contestant> contestants;
    for (const Entrant& entrant : entrants_) {
      contestants.push_back(contestant_of(entrant, *buffer_, floats));
    }
    const Ground ground{stage_.world(), stage_.backend().reduce_device(), options_.place.wire};
    auto seconds = measure(ground, contestants, floats, {options_.repetitions, options_.seconds});
    std::vector<Row> rows;
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      rows.push_back({size, entrants_[i].name, std::move(seconds[i])});
    }
    say(table_rows(rows, record_.scene.ranks()));
    std::move(rows.begin(), rows.end(), std::back_inserter(record_.rows));
  }

  void say(const std::string& text) const {
    if (stage_.speaks()) std::cout << text << std::flush;
  }

  const BenchAllReduceOptions& options_;
  Stage stage_;
  Record record_;
  std::unique_ptr<Buffer> buffer_;
  std::vector<Entrant> entrants_;
};

/// Before anything is measured: what could not be written at the end is noticed at once.
void check_outputs(const BenchAllReduceOptions& options) {
  if (!speaks_for_all()) return;
  check_output_file("--json", options.json);
  check_output_file("--plot", options.plot);
  if (!options.plot.empty()) check_plotter();
}

}  // namespace

int run_bench_all_reduce(const BenchAllReduceOptions& options) {
  std::string json;
  const int code = in_session(
      options.place.backend, [&] { check_outputs(options); },
      [&](const SelectedDevice& device) {
        const Record record = Bench(options, device).run();
        json = record_json(record);
      });
  if (!speaks_for_all()) return code;
  if (!options.json.empty()) write_atomically(options.json, json);
  if (!options.plot.empty())
    plot_record(json, options.plot);  // MPI and processes do not go well together
  return code;
}

}  // namespace rueda
