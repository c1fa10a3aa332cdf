#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/study.hpp"

namespace rueda {

/// A value and how far it may be off: the range over repeats, or what rounding
/// leaves. low <= value <= high; all NaN if unknown.
struct Estimate {
  double value = kUnknown;
  double low = kUnknown;
  double high = kUnknown;
};

/// low = value = high: no spread is known.
inline Estimate exactly(double value) noexcept { return {value, value, value}; }
inline bool known(const Estimate& estimate) noexcept { return std::isfinite(estimate.value); }
inline bool is_exact(const Estimate& estimate) noexcept { return estimate.low == estimate.high; }

/// Extremes of the quotient of positive values that are independent of each other.
inline Estimate operator/(const Estimate& a, const Estimate& b) noexcept {
  return {a.value / b.value, a.low / b.high, a.high / b.low};
}
inline Estimate operator*(const Estimate& a, double factor) noexcept {
  return {a.value * factor, a.low * factor, a.high * factor};
}
/// `numerator` / a: for rates.
inline Estimate per(double numerator, const Estimate& a) noexcept { return exactly(numerator) / a; }

enum class Processor { cpu, gpu, timed };
constexpr auto words_of(Processor) { return std::array{"CPU", "GPU", "timed (nothing computed)"}; }

/// Who trained what on which kind of processor. Only runs of equal subjects share a series.
struct Subject {
  std::string source;  ///< "rueda", "Keras log FILE", "Torres 2026, table 10.4" ...
  std::string model;
  std::string variant;  ///< other options that differ, in words; empty if none do
  Processor processor = Processor::cpu;
  std::size_t image_size = 0;  ///< 0: unknown

  auto operator<=>(const Subject&) const = default;

  /// " (Keras log FILE)", a remark for people; empty for rueda's own.
  std::string source_remark() const;
};

/// One training run as a scaling study sees it, or all repeats of one: of
/// rueda, from the log of a framework, or from a published table. Times in
/// seconds.
struct Observation : Subject {
  std::size_t ranks = 1;  ///< P; replicas, GPUs
  std::size_t hosts = 1;
  std::size_t rank_batch = 0;    ///< images of each rank in a full step; 0 if ranks differ
  std::size_t global_batch = 0;  ///< of all ranks
  double images = kUnknown;      ///< of an epoch
  std::size_t steps = 0;         ///< of an epoch, partial ones included
  std::size_t repeats = 1;

  Estimate epoch;        ///< steady: epochs after the first
  Estimate first_epoch;  ///< unknown if a log begins later
  Estimate full_step;    ///< steady, slowest rank
  /// Time of an epoch divided by its steps, where a log prints that and no full step.
  Estimate mean_step;
  /// `epoch` as its log prints it, in whole seconds, say; unknown if nothing was rounded.
  Estimate printed_epoch;

  /// Ranks ran more threads than there were cores: shown, left out of fits.
  bool oversubscribed = false;
  /// No epoch but the first of a process: its time includes warm-up.
  bool includes_warm_up = false;
  /// A rank got less of its cores than is_disturbed allows in a steady epoch, though it had no
  /// more threads than cores.
  bool disturbed = false;
  /// Of rueda; empty for others. The first is the one that stands for all repeats.
  std::vector<const RunResult*> runs;
};
using Observations = std::vector<Observation>;
/// Observations that have something in common.
using Members = std::vector<const Observation*>;

/// A finished or interrupted run of rueda; it has to outlive the observation.
/// Throws std::invalid_argument if it has no epoch.
Observation observe(const RunResult& run);

/// What a run's time of a step depends on and no option says: the names of its processors or GPUs
/// ("processor", "GPU"), and the versions of the libraries that its kind of device uses. By name.
std::map<std::string, std::string> machine_of(const RunResult& run);

/// All runs that have an epoch. `variant` names the options that change the
/// time of a step and are not the same in all runs ("overlap off, wire bf16"), and what of
/// machine_of is not the same in all runs on this kind of processor.
Observations observe_all(const Runs& runs);

/// Repeats of one configuration as one observation: the repeat in the middle by the time of its
/// epochs (of an even number the faster of the middle two), so that all its times belong together,
/// with the range of each time over all repeats.
Observation merged(const Members& repeats);

/// One of rueda's without repeats: its figures have no range.
inline bool is_single_run(const Observation& o) noexcept {
  return o.repeats == 1 && !o.runs.empty();
}

/// Whether their epochs have the same images, or are both of an unknown number.
inline bool same_images(const Observation& a, const Observation& b) noexcept {
  return a.images == b.images || (std::isnan(a.images) && std::isnan(b.images));
}

/// A finished epoch as a log prints it: rounded. Seconds.
struct LoggedEpoch {
  std::size_t number = 0;   ///< from 1
  std::size_t steps = 0;    ///< 0: unknown
  std::size_t samples = 0;  ///< counted instead of steps; 0: steps were counted
  Estimate printed;         ///< what the rounding of its seconds leaves
  Estimate seconds;         ///< what all figures of its line together leave, at most as wide
  bool validates = false;   ///< its seconds include a validation
};

/// A run of which only printed figures are known.
struct LoggedRun : Subject {
  std::size_t ranks = 1;
  std::size_t global_batch = 0;  ///< 0: unknown
  double images = kUnknown;      ///< in the data set
  std::vector<LoggedEpoch> epochs;
};

/// "14s", "544ms", "73us", "23.44s", "8.715 s": in seconds, with what rounding
/// to the last digit leaves, never below 0. Nothing if the text is not a whole
/// duration.
std::optional<Estimate> printed_duration(std::string_view text);

/// What both ranges leave, and the value of the narrower one within it; `first`
/// if they exclude each other.
Estimate narrowed(const Estimate& first, const Estimate& second);

/// Images that an epoch of `steps` steps takes of `images`: all of them with a
/// partial last step, or steps x batch where a remainder is left out. NaN if
/// neither fits.
double images_of_epoch(double images, std::size_t steps, std::size_t global_batch);

/// Steady: medians of values and bounds over the epochs after the first.
/// Without a partial last step a full step takes epoch / steps. With one its
/// value supposes that time follows images, and its bounds that the partial
/// step took from nothing to as long as a full one. Throws
/// std::invalid_argument if there is no epoch.
Observation observe(const LoggedRun& run);

/// A log, and what is known of its runs from elsewhere, which wins over the log.
struct KerasLog {
  std::filesystem::path file;
  std::string model;             ///< empty: as the log says
  std::size_t ranks = 0;         ///< 0: as the log says, else 1
  std::size_t global_batch = 0;  ///< 0: as the log says
  std::size_t image_size = 0;    ///< pixels; 0: unknown
  std::size_t images = 0;        ///< in the data set; 0: 50,000, if steps and batch allow that
  std::optional<Processor> processor;  ///< none: gpu if the log mentions one
  bool operator==(const KerasLog&) const = default;
};

/// "FILE[,model=NAME][,ranks=P][,batch=GLOBAL][,images=N][,size=PIXELS][,processor=cpu|gpu]".
/// Throws InputError if a value is not one.
KerasLog parse_keras_log_option(const std::string& text);

/// The runs in what Keras' fit() printed (verbose 1 or 2, TensorFlow 1 to Keras 3), or in rueda's
/// own lines. A run begins where epochs count from 1 again or at a header ("Model ResNet50 2 GPUs",
/// "Batch_size: 4096", "Num_replicas: 2"). Other lines of the file are ignored, and so are
/// evaluations. Times with val_ figures include validation, and `variant` says so. Throws
/// InputError naming the file and the remedy if it is no file, larger than 1 GB, has more than
/// 100,000 epochs or none, or if images, steps and batch contradict each other.
std::vector<LoggedRun> read_logged_runs(const KerasLog& log);

/// The same as observations.
Observations read_keras_log(const KerasLog& log);

/// The observations of the chapter whose figures docs/published.md discusses have this source.
inline constexpr const char* kBookSource = "Torres 2026, ch. 10";

/// The published runs of jobs/reader/handin/published.json, which is compiled into the
/// program. `which` is a set ("book", "nyu"), or "all". Throws InputError
/// naming the sets for any other word.
Observations published(const std::string& which);

}  // namespace rueda
