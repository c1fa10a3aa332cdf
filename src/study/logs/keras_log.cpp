#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>
#include <utility>

#include "keras_line.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostBytes = 1'000'000'000;
constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostEpochs = 100'000;
constexpr double kCifarImages = 50'000;
const std::string kRemedy =
    "give what Keras' fit() printed with verbose=1 or 2, with lines such as \"25/25 - 14s - loss: "
    "2.13 - 14s/epoch - 544ms/step\"";

[[noreturn]] void refuse(const KerasLog& log, const std::string& why, const std::string& remedy) {
  throw InputError(log.file.string() + ": " + why + "; " + remedy);
}

/// Cuts a text into lines as a terminal would have shown them in time: line feeds, carriage returns
/// and backspaces end lines, escape sequences are left out, and a line is cut after 4096 bytes.
template <typename Use>
class LineSplitter {
 public:
  explicit LineSplitter(Use use) : use_(use) {}

  void add(char c) {
    if (c == '\n' || c == '\r' || c == '\b')
      end_line();
    else if (escape_ != Escape::none)
      in_escape(c);
    else if (c == '\x1b')
      escape_ = Escape::begun;
    else if (line_.size() < kLongestLine)
      line_ += c;
  }

  void end_line() {
    escape_ = Escape::none;
    if (!line_.empty()) use_(line_);
    line_.clear();
  }

 private:
  /// ECMA-48: ESC [ parameters, ended by a byte from @ to ~; other sequences are ESC and one byte.
  enum class Escape { none, begun, parameters };

  void in_escape(char c) {
    const bool begins = escape_ == Escape::begun && c == '[';
    const bool goes_on = escape_ == Escape::parameters && (c < '@' || c > '~');
    escape_ = begins || goes_on ? Escape::parameters : Escape::none;
  }

  Use use_;
  std::string line_;
  Escape escape_ = Escape::none;
};

/// Calls `use` with every line. Memory does not grow with the file.
template <typename Use>
void for_each_line(const std::filesystem::path& path, Use use) {
  const InputFile file{path, path.string(), kRemedy};
  require_regular_file(file, kMostBytes);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) file.refuse("it cannot be opened");
  LineSplitter splitter(use);
  std::array<char, 65536> buffer;
  while (stream.read(buffer.data(), buffer.size()), stream.gcount() > 0) {
    for (std::streamsize i = 0; i < stream.gcount(); ++i) splitter.add(buffer[std::size_t(i)]);
  }
  splitter.end_line();
}

/// Puts lines together to runs.
class RunCollector {
 public:
  explicit RunCollector(const KerasLog& log) : log_(&log) {}

  /// A mark may be anywhere in a line: some logs lost the line ends before them.
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

  /// Without a header, the next run is like this one.
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

  /// In a log with marks only the line after a mark counts: others are of evaluations.
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
    if (line.epoch.validates) run_.variant = "times with validation";
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

/// Logs that count samples have no steps.
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
  return key == kKeys.end() || key->name.size() == field.size() ? nullptr : key;
}

void set_field(KerasLog& log, std::string_view field) {
  const Key* key = key_of(field);
  if (key == nullptr)
    refuse_field(field, "give model=, ranks=, batch=, images=, size= or processor=");
  const std::string_view value = field.substr(key->name.size() + 1);
  if (value.empty()) refuse_field(field, "give a value after =");
  if (key->count != nullptr) {
    TextCursor cursor(value);
    log.*key->count = cursor.number().value_or(0);
    if (log.*key->count == 0 || !cursor.done()) refuse_field(field, "give a whole number from 1");
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
  TextCursor cursor(end == all.npos ? "" : all.substr(end));
  while (cursor.take(",")) set_field(log, cursor.take_until(","));
  return log;
}

std::vector<LoggedRun> read_logged_runs(const KerasLog& log) {
  RunCollector collector(log);
  for_each_line(log.file, [&](std::string_view line) { collector.read(line); });
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
