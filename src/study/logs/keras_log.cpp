#include "rueda/study/keras_log.hpp"

#include <cmath>
#include <utility>

#include "keras_line.hpp"
#include "log_lines.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostEpochs = 100'000;
constexpr double kCifarImages = 50'000;
const std::string kRemedy =
    "give what Keras' fit() printed with verbose=1 or 2, with lines such as "
    "\"25/25 - 14s - loss: 2.13 - 14s/epoch - 544ms/step\"";

[[noreturn]] void refuse(const KerasLog& log, const std::string& why, const std::string& remedy) {
  throw InputError(log.file.string() + ": " + why + "; " + remedy);
}

/// Puts lines together to runs.
class RunCollector {
 public:
  explicit RunCollector(const KerasLog& log) : log_(&log) {}

  /// A mark may stand anywhere in a line: some logs lost the line ends before them.
  void read(std::string_view line) {
    if (line.find("NVIDIA-SMI") != line.npos || line.find("GPU:") != line.npos) gpu_ = true;
    std::size_t from = 0;
    while (const auto mark = find_epoch_mark(line, from)) {
      read_piece(line.substr(from, mark->begin - from));
      begin_epoch(mark->number);
      from = mark->end;
    }
    read_piece(line.substr(from));
  }

  std::vector<LoggedRun> finish() {
    end_run();
    for (LoggedRun& run : runs_) {
      if (gpu_) run.processor = Processor::gpu;
    }
    return std::move(runs_);
  }

 private:
  void read_piece(std::string_view piece) {
    if (const auto line = parse_finished_line(piece))
      end_epoch(*line);
    else if (const auto header = parse_run_header(piece))
      begin_run(*header);
  }

  void begin_run(const RunHeader& header) {
    if (!run_.epochs.empty()) {
      end_run();
      run_ = {};
    }
    if (!header.model.empty()) run_.model = printable(header.model);
    if (header.ranks > 0) run_.ranks = header.ranks;
    if (header.global_batch > 0) run_.global_batch = header.global_batch;
    if (header.ranks > 0) gpu_ = true;  // replicas are of devices
  }

  /// Without a header, the same once more.
  void repeat_run() {
    end_run();
    run_.epochs.clear();
  }

  void end_run() {
    if (!run_.epochs.empty()) runs_.push_back(run_);
  }

  void begin_epoch(std::size_t number) {
    marked_ = true;
    if (!run_.epochs.empty() && number <= run_.epochs.back().number) repeat_run();
    open_epoch_ = number;
  }

  /// In a log with marks only the line behind a mark counts: others tell of evaluations.
  void end_epoch(const FinishedLine& line) {
    if (marked_ && open_epoch_ == 0) return;
    if (!run_.epochs.empty() && run_.epochs.back().steps != line.epoch.steps) repeat_run();
    if (++epochs_ > kMostEpochs) {
      refuse(*log_, "it has more than 100,000 epochs",
             "give the part of it that is to be compared");
    }
    run_.epochs.push_back(line.epoch);
    run_.epochs.back().number = marked_ ? open_epoch_ : run_.epochs.size();
    if (std::isfinite(line.samples)) run_.images = line.samples;
    if (std::isfinite(line.epoch.val_loss)) run_.variant = "times with validation";
    open_epoch_ = 0;
  }

  const KerasLog* log_;
  LoggedRun run_;
  std::vector<LoggedRun> runs_;
  std::size_t open_epoch_ = 0;  ///< of the last mark, until its line came
  std::size_t epochs_ = 0;
  bool marked_ = false;
  bool gpu_ = false;
};

/// Logs that count samples tell no steps.
void count_steps(LoggedRun& run) {
  if (run.global_batch == 0 || !(run.images > 0)) return;
  for (LoggedEpoch& epoch : run.epochs) {
    if (epoch.steps == 0)
      epoch.steps = static_cast<std::size_t>(std::ceil(run.images / double(run.global_batch)));
  }
}

void apply(const KerasLog& log, LoggedRun& run) {
  run.source = "log " + printable(log.file.string());
  if (!log.model.empty()) run.model = log.model;
  if (run.model.empty()) run.model = "unnamed model";
  if (log.ranks > 0) run.ranks = log.ranks;
  if (log.global_batch > 0) run.global_batch = log.global_batch;
  run.image_size = log.image_size;
  if (log.processor) run.processor = *log.processor;
  if (log.images > 0)
    run.images = double(log.images);
  else if (std::isnan(run.images))
    run.images = kCifarImages;
  count_steps(run);
  const std::size_t steps = run.epochs.front().steps;
  if (log.images > 0 && std::isnan(images_of_epoch(run.images, steps, run.global_batch))) {
    refuse(log,
           std::to_string(steps) + " steps of " + std::to_string(run.global_batch) +
               " images are no epoch of " + std::to_string(log.images),
           "correct images= or batch= (of all ranks together)");
  }
}

}  // namespace

std::vector<LoggedRun> read_logged_runs(const KerasLog& log) {
  RunCollector collector(log);
  for_each_line(log.file, kRemedy, [&](std::string_view line) { collector.read(line); });
  std::vector<LoggedRun> runs = collector.finish();
  if (runs.empty()) refuse(log, "it has no line of a finished epoch", kRemedy);
  for (LoggedRun& run : runs) apply(log, run);
  return runs;
}

std::vector<Observation> read_keras_log(const KerasLog& log) {
  std::vector<Observation> all;
  for (const LoggedRun& run : read_logged_runs(log)) all.push_back(observe(run));
  return all;
}

}  // namespace rueda
