// What rank 0 keeps and writes for many ranks: the observer of a real run, fed with made times of
// as many ranks as asked for. Prints a line of JSON for each number of ranks, each in a process
// of its own, because memory that one took stays; jobs/check/simulated_cluster.py makes a table.

#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "run/console.hpp"
#include "train/step_recorder.hpp"

using namespace rueda;
namespace fs = std::filesystem;

namespace {

struct RecordOptions {
  std::size_t ranks = 1024;
  std::size_t steps = 50;
  std::size_t epochs = 20;
  std::size_t buckets = 3;
  std::string folder;
};

/// From 1 to 1.1, another number for each rank and step.
double made(std::size_t rank, std::size_t step) {
  return 1 + 0.1 * double(random_bits(rank + 1, step) % 1000) / 1000;
}

StepRecord made_step(std::size_t epoch, std::size_t step, std::size_t rank) {
  StepRecord s;
  s.epoch = std::uint32_t(epoch);
  s.step = std::uint32_t(step);
  s.samples = 32;
  const double slow = made(rank, epoch * 1000 + step);
  s.phases = {1e-4 * slow, 0, 0.04 * slow, 1e-4, 0.08 * slow, 0.03 / slow, 5e-4, 1e-4};
  s.seconds = std::accumulate(s.phases.begin(), s.phases.end(), 0.0);
  s.all_reduce_busy = 0.1 / slow;
  s.all_reduce_add = 0.005 * slow;
  s.train_loss = 2.3 / slow;
  s.train_accuracy = 0.1 * slow;
  s.learning_rate = 0.1;
  return s;
}

BucketRecord made_bucket(const StepRecord& step, std::size_t bucket) {
  const double begin = double(step.step) + 0.01 * double(bucket) + step.phases[0];
  return {step.epoch, step.step, std::uint32_t(bucket), 0, begin, begin, begin + 0.009,
          0.008,      1e-4};
}

class RecordKeeping {
 public:
  explicit RecordKeeping(const RecordOptions& options) : options_(options) {
    run_.config.output.run_dir = options.folder;
    run_.config.output.progress = ProgressChoice::off;
    run_.config.training.epochs = options.epochs;
    run_.steps_per_epoch = options.steps;
    run_.global_batch = 32 * options.ranks;
    run_.rank_batches.assign(options.ranks, 32);
    run_.ranks.resize(options.ranks);
    for (std::size_t rank = 0; rank < options.ranks; ++rank) {
      run_.ranks[rank].rank = int(rank);
      run_.ranks[rank].host = "node" + std::to_string(rank / 4);
      run_.ranks[rank].startup = {{"mpi", 1 * made(rank, 0)}, {"data", 0.5 * made(rank, 1)}};
    }
  }

  nlohmann::ordered_json measure() {
    Console console(run_, true, journal_);
    write_run_files(run_);
    console.begin(run_);
    for (std::size_t epoch = 1; epoch <= options_.epochs; ++epoch) {
      EpochRecord record = make_epoch(epoch);
      take_steps(console, record);
      const Stopwatch watch;
      book_waits(record.step_records, record.bucket_records, record.clocks);
      run_.epochs.push_back(std::move(record));
      console.on_epoch(run_);
      epoch_seconds_ += watch.seconds();
    }
    run_.outcome = "completed";
    const Stopwatch watch;
    console.end(run_);
    return figures(watch.seconds());
  }

 private:
  EpochRecord make_epoch(std::size_t epoch) const {
    EpochRecord record;
    record.epoch = epoch;
    record.steps = options_.steps;
    record.ranks = options_.ranks;
    record.rank_batches = run_.rank_batches;
    record.train = {2, 0.2, run_.global_batch * options_.steps, 5};
    record.seconds = 0.15 * double(options_.steps);
    record.images_per_second = 1000;
    record.clocks.resize(options_.ranks);
    record.rank_energy.resize(options_.ranks);
    record.step_records.resize(options_.ranks);
    record.bucket_records.resize(options_.ranks);
    for (std::size_t rank = 0; rank < options_.ranks; ++rank) {
      for (std::size_t step = 1; step <= options_.steps; ++step) {
        StepRecord one = made_step(epoch, step, rank);
        one.global_samples = std::uint32_t(run_.global_batch);
        record.step_records[rank].push_back(one);
        for (std::size_t bucket = 0; bucket < options_.buckets; ++bucket)
          record.bucket_records[rank].push_back(made_bucket(one, bucket));
      }
    }
    return record;
  }

  /// With the slots of the tail, as each step brings them.
  void take_steps(Console& console, const EpochRecord& record) {
    const RankSlots slots(options_.ranks);
    std::vector<RankTimes> times(slots.count);
    TrainPosition position{.epochs = record.epoch - 1};
    for (std::size_t step = 1; step <= options_.steps; ++step) {
      for (std::size_t slot = 0; slot < slots.count; ++slot)
        std::ranges::copy(record.step_records[slot * slots.stride][step - 1].phases,
                          times[slot].phases.begin());
      position.steps = step;
      position.so_far.samples += double(run_.global_batch);
      const Stopwatch watch;
      console.on_step(position, times);
      step_seconds_ += watch.seconds();
    }
  }

  nlohmann::ordered_json figures(double end_seconds) const {
    const auto epochs = double(options_.epochs);
    const auto megabytes = [this](const char* name) {
      return double(fs::file_size(fs::path(options_.folder) / name)) / 1e6;
    };
    return {{"ranks", options_.ranks},
            {"steps", options_.steps},
            {"epochs", options_.epochs},
            {"epoch_seconds", epoch_seconds_ / epochs},
            {"step_seconds", step_seconds_ / epochs / double(options_.steps)},
            {"end_seconds", end_seconds},
            {"gathered_megabytes", gathered_bytes() / 1e6},
            {"run_json_megabytes", megabytes("run.json")},
            {"ranks_csv_megabytes", megabytes("ranks.csv")},
            {"steps_csv_megabytes", megabytes("steps.csv")},
            {"memory_megabytes", peak_megabytes() - before_}};
  }

  /// Of an epoch, on rank 0.
  double gathered_bytes() const {
    const std::size_t step = sizeof(StepRecord) + options_.buckets * sizeof(BucketRecord);
    const std::size_t fixed = sizeof(ClockFit) + sizeof(Energy);
    return double(options_.ranks * (options_.steps * step + fixed));
  }

  static double peak_megabytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024 / 1e6;
    return 0;
  }

  RecordOptions options_;
  double before_ = peak_megabytes();
  RunRecord run_;
  ReduceJournal journal_;
  double epoch_seconds_ = 0;
  double step_seconds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What rank 0 keeps and writes for many ranks.");
  RecordOptions options;
  app.add_option("--ranks", options.ranks, "number of ranks");
  app.add_option("--steps", options.steps, "of an epoch");
  app.add_option("--epochs", options.epochs, "of the run");
  app.add_option("--buckets", options.buckets, "of a step");
  app.add_option("--folder", options.folder, "an empty one, for the files of the run")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    const auto figures = RecordKeeping(options).measure();
    std::cout << figures << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "record-keeping: " << error.what() << '\n';
    return 1;
  }
}
