#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "study/logs/keras_line.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostBytes = 1'000'000'000;
constexpr std::size_t kMostEpochs = 100'000;
constexpr double kCifarImages = 50'000;
const std::string kRemedy =
    "give what Keras' fit() printed with verbose=1 or 2, with lines such as \"25/25 - 14s - loss: "
    "2.13 - 14s/epoch - 544ms/step\"";

[[noreturn]] void refuse(const KerasLog& log, const std::string& why, const std::string& remedy) {
  throw InputError(log.file.string() + ": " + why + "; " + remedy);
}

/// How much a line looks like one of a finished epoch.
int likeness(std::string_view line) {
  constexpr std::array kParts = {"/step", "/epoch", "loss", " - ", "Epoch", "accuracy"};
  return int(
      std::ranges::count_if(kParts, [&](const char* p) { return line.find(p) != line.npos; }));
}

/// Puts the lines of a log together to runs.
class LogReader {
 public:
  explicit LogReader(const KerasLog& log) : log_(&log) {}

  void add(const OutputLine& line) {
    if (line.of_rank_0) read_line(line.text);
    if (epochs_ > 0) return;  // nothing will be refused
    const int like = likeness(line.whole);
    if (like <= nearest_like_) return;
    nearest_like_ = like;
    nearest_ = "; the nearest is \"" + printable(line.whole) + '"';
  }

  std::vector<LoggedRun> finish() {
    end_run();
    if (gpu_)
      for (LoggedRun& run : runs_) run.processor = Processor::gpu;
    return std::move(runs_);
  }

  /// Words on the line that is most like one of a finished epoch.
  const std::string& nearest() const noexcept { return nearest_; }

 private:
  /// A mark may be anywhere in a line: some logs lost the line ends before them.
  void read_line(std::string_view line) {
    if (line.find("NVIDIA-SMI") != line.npos || line.find("GPU:") != line.npos) gpu_ = true;
    while (const auto mark = keras::find_epoch_mark(line)) {
      read_piece(line.substr(0, mark->begin));
      begin_epoch(mark->number);
      line.remove_prefix(mark->end);
    }
    read_piece(line);
  }

  void read_piece(std::string_view piece) {
    if (const auto epoch = keras::parse_finished_line(piece))
      end_epoch(*epoch);
    else if (const auto header = keras::parse_run_header(piece))
      begin_run(*header);
  }

  void begin_run(const keras::RunHeader& header) {
    if (end_run()) run_ = {};
    if (!header.model.empty()) run_.model = printable(header.model);
    if (header.ranks > 0) run_.ranks = header.ranks;
    if (header.global_batch > 0) run_.global_batch = header.global_batch;
    if (header.ranks > 0) gpu_ = true;  // replicas are of devices
  }

  /// Without a header, the next run is like this one. False if nothing of it was read.
  bool end_run() {
    if (run_.epochs.empty()) return false;
    runs_.push_back(run_);
    run_.epochs.clear();
    return true;
  }

  void begin_epoch(std::size_t number) {
    marked_ = true;
    if (!run_.epochs.empty() && number <= run_.epochs.back().number) end_run();
    open_epoch_ = number;
  }

  /// In a log with marks only the line after a mark counts: others are of evaluations.
  void end_epoch(LoggedEpoch epoch) {
    if (marked_ && open_epoch_ == 0) return;
    if (!run_.epochs.empty() && run_.epochs.back().steps != epoch.steps) end_run();
    if (++epochs_ > kMostEpochs) {
      refuse(*log_, "it has more than 100,000 epochs",
             "give the part of it that is to be compared");
    }
    epoch.number = run_.epochs.size() + 1;
    if (marked_) epoch.number = std::exchange(open_epoch_, 0);
    run_.epochs.push_back(epoch);
    if (epoch.samples > 0) run_.images = double(epoch.samples);
    if (epoch.validates) run_.variant = "times with validation";
  }

  const KerasLog* log_;
  int nearest_like_ = 0;
  std::string nearest_;
  LoggedRun run_;
  std::vector<LoggedRun> runs_;
  std::size_t open_epoch_ = 0;  ///< of the last mark, until its line came
  std::size_t epochs_ = 0;
  bool marked_ = false;
  bool gpu_ = false;
};

/// Refuses a log without a finished epoch.
std::vector<LoggedRun> read_file(const KerasLog& log) {
  const InputFile file{log.file, log.file.string(), kRemedy};
  LogReader reader(log);
  read_output(file, kMostBytes, [&](const OutputLine& line) { reader.add(line); });
  std::vector<LoggedRun> runs = reader.finish();
  file.require(!runs.empty(), "it has no line of a finished epoch of rank 0" + reader.nearest());
  return runs;
}

/// Logs that count samples have no steps.
void count_steps(LoggedRun& run) {
  if (run.global_batch == 0 || !(run.images > 0)) return;
  const auto steps = std::size_t(std::ceil(run.images / double(run.global_batch)));
  for (LoggedEpoch& epoch : run.epochs) {
    if (epoch.steps == 0) epoch.steps = steps;
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
           fmt::format("{} steps of {} images are no epoch of {}", steps, run.global_batch,
                       log.images),
           "correct images= or batch= (of all ranks together)");
  }
}

struct Key {
  std::string_view name;
  std::size_t KerasLog::*count;  ///< null where the value is no count
};
constexpr std::array kKeys = {Key{"model", nullptr},
                              Key{"ranks", &KerasLog::ranks},
                              Key{"batch", &KerasLog::global_batch},
                              Key{"images", &KerasLog::images},
                              Key{"size", &KerasLog::image_size},
                              Key{"processor", nullptr}};

[[noreturn]] void refuse_field(std::string_view field, const std::string& wanted) {
  throw InputError("--keras-log: \"" + printable(field) + "\": " + wanted);
}

/// The key of "key=..."; null if it is none.
const Key* key_of(std::string_view field) {
  const auto* key = std::ranges::find(kKeys, field.substr(0, field.find('=')), &Key::name);
  if (key == kKeys.end() || key->name.size() == field.size()) return nullptr;
  return key;
}

void set_field(KerasLog& log, std::string_view field) {
  const Key* key = key_of(field);
  if (key == nullptr)
    refuse_field(field, "give model=, ranks=, batch=, images=, size= or processor=");
  std::string_view value = field.substr(key->name.size() + 1);
  if (value.empty()) refuse_field(field, "give a value after =");
  if (key->count != nullptr) {
    log.*key->count = keras::take_count(value).value_or(0);
    if (log.*key->count == 0 || !value.empty()) refuse_field(field, "give a whole number from 1");
  } else if (key->name == "model") {
    log.model = value;
  } else {
    if (value != "cpu" && value != "gpu") refuse_field(field, "give cpu or gpu");
    log.processor = value == "cpu" ? Processor::cpu : Processor::gpu;
  }
}

}  // namespace

/// The first ",key=" ends the file name: a comma may also belong to it.
KerasLog parse_keras_log_option(const std::string& text) {
  const std::string_view all(text);
  std::size_t end = all.find(',');
  while (end != all.npos && key_of(all.substr(end + 1)) == nullptr) end = all.find(',', end + 1);
  KerasLog log;
  log.file = all.substr(0, end);
  if (log.file.empty()) refuse_field(text, "give a file before the first comma");
  while (end != all.npos) {
    const std::size_t begin = end + 1;
    end = all.find(',', begin);
    set_field(log, all.substr(begin, end - begin));
  }
  return log;
}

std::vector<LoggedRun> read_logged_runs(const KerasLog& log) {
  std::vector<LoggedRun> runs = read_file(log);
  for (LoggedRun& run : runs) apply(log, run);
  return runs;
}

Observations read_keras_log(const KerasLog& log) {
  return values_of(read_logged_runs(log), [](const LoggedRun& run) { return observe(run); });
}

}  // namespace rueda
