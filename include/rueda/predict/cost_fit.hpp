#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rueda/predict/forecast.hpp"
#include "rueda/study/study.hpp"

namespace rueda::predict {

/// One row of `rueda bench all-reduce --json`.
struct BenchRow {
  std::string algorithm;  ///< its word: "ring", "doubling" ...
  double bytes = 0;       ///< of the slice
  double median = 0;      ///< seconds
  std::vector<double> seconds;
};

/// A whole record (docs/bench.md).
struct BenchResult {
  std::filesystem::path file;
  std::size_t ranks = 1;
  std::size_t hosts = 1;
  std::vector<BenchRow> rows;
};

/// Throws InputError naming file, place and remedy if it cannot be read or is none.
BenchResult read_bench(const std::filesystem::path& file);

/// A measurement y that is taken to be a * first + b * second.
struct PairRow {
  double a = 0;
  double b = 0;
  double y = 0;
};

/// Two costs from many measurements.
struct PairFit {
  double first = 0;
  double second = 0;
  bool separable = false;    ///< else the rows cannot tell the two apart, and `first` is 0
  double typical_error = 0;  ///< root of the mean square of (fitted - y) / y
};

/// Least squares of the relative errors (fitted - y) / y, so that small measurements count as much
/// as large ones. Neither cost becomes negative. Rows whose y is not positive are left out; all 0
/// if none are left.
PairFit fit_pair(std::vector<PairRow> rows);

struct ComputeFit {
  ComputeModel model;
  PairFit fit;                       ///< of t0 and t1; separable: batches of several sizes were run
  std::vector<std::size_t> batches;  ///< images of a micro-batch, each once, ascending
  std::size_t runs = 0;
};

/// From the steady full steps of runs of one model on one kind of device: means over ranks. t0 and
/// t1 by least squares of relative errors over (micro-batch, time); t0 is 0 where only one batch
/// was run. Throws InputError if no run has a full step.
ComputeFit fit_compute(const std::vector<RunResult>& runs);

/// How the time of a rank's full step without waiting for the all-reduce varies relative to its
/// mean over steps and ranks of the run, which is 1.
struct NoiseFit {
  Distribution noise{1};
  std::size_t samples = 0;  ///< steps of a rank; 0: nothing is known
  bool from_steps = false;  ///< from steps.csv, value by value; else from the spreads of run.json
};

/// From the steps.csv in each run's directory, if all have one.
NoiseFit fit_noise(const std::vector<RunResult>& runs);

/// A link as it was fitted, and from what.
struct LinkFit {
  Link link;
  PairFit fit;
  std::string source;  ///< for people: "3 sums of ring.json on 4 ranks"
};

/// What measurements tell of a machine. A level is missing where nothing ran on it.
struct MachineFit {
  std::optional<LinkFit> inside;   ///< ranks of one host
  std::optional<LinkFit> between;  ///< several hosts
  double gamma = 0;                ///< seconds for each byte added; 0: unknown
  std::size_t gamma_rows = 0;      ///< buckets that it was fitted to
  /// Standard deviation of a message relative to its mean, if messages are independent; NaN:
  /// unknown.
  double message_noise = kUnknown;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// gamma from the runs' buckets, by the median of seconds adding / bytes added. Alpha and beta of a
/// level from the rows of bench records that are the ring's; without any, from the runs' buckets:
/// the median of each bucket's time in messages. The ring's closed form ties them to P and bytes. A
/// ring over several hosts goes as fast as the links between these, and shows nothing else.
/// `gamma`: as it is known from elsewhere.
MachineFit fit_machine(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                       std::optional<double> gamma = {});

/// What is given instead of being fitted. Nothing: fitted.
struct Given {
  std::optional<double> alpha, bandwidth;                ///< between nodes; s, B/s
  std::optional<double> inside_alpha, inside_bandwidth;  ///< within nodes
  std::optional<double> add_rate;                        ///< B/s
  std::optional<double> step_seconds;  ///< of a full step of `batch` images on one rank
  std::optional<double> fixed;         ///< t0
  std::optional<double> message_noise;
  std::size_t batch = 0;  ///< images of a rank, for `step_seconds`
};

/// The network and the machine that a model is for.
struct Target {
  std::string model;           ///< empty: that of the runs
  std::size_t image_size = 0;  ///< 0: that of the runs
  /// 0: ranks are taken to be joined by links of one kind.
  std::size_t ranks_per_node = 0;
  std::size_t links_per_node = 1;
  std::optional<double> bucket_mb;  ///< as --bucket-mb of training; nothing: as the runs had it
};

/// A cost model and where it is from.
struct CostFit {
  CostModel model;
  std::string network;         ///< its name
  std::size_t image_size = 0;  ///< pixels
  MachineFit machine;
  std::optional<ComputeFit> compute;  ///< nothing: given
  NoiseFit noise;
  std::vector<std::string> notes;  ///< what was assumed, and where it may not hold
};

/// Fits all that is not given. Throws InputError where something is neither.
CostFit fit_cost(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                 const Target& target, const Given& given);

/// Of runs with an epoch, those that a fit goes by: with a core for each thread. `notes`
/// names what is left out.
std::vector<RunResult> usable_runs(const std::vector<RunResult>& runs,
                                   std::vector<std::string>& notes);

}  // namespace rueda::predict
