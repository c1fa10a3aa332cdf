#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/study.hpp"
#include "study/table.hpp"
#include "train/forecast/forecast.hpp"

namespace rueda::predict {

using namespace cost;

/// Half of the 90 % interval of a single run, relative to the figure; NaN: unknown.
struct PlusMinus {
  double epoch = NAN;  ///< also of what is proportional to it: a step, images/s, rank-hours
  double speedup = NAN;
  double all_reduce = NAN;
};

/// With the interval of its figures.
struct Forecast : EpochForecast {
  PlusMinus plus_minus = {};
};
using Forecasts = std::vector<Forecast>;

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
using Benches = std::vector<BenchResult>;

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

/// Least squares of the relative errors (fitted - y) / y, so that small
/// measurements count as much as large ones. Neither cost becomes negative.
/// Rows whose y is not positive are left out; all 0 if none are left.
PairFit fit_pair(std::vector<PairRow> rows);

struct ComputeFit {
  ComputeModel model;
  PairFit fit;  ///< of t0 and t1; separable: batches of several sizes were run
  std::size_t runs = 0;
};

/// From the steady full steps of runs of one model on one kind of device: means
/// over ranks. t0 and t1 by least squares of relative errors over (micro-batch,
/// time); t0 is 0 where only one batch was run. Throws InputError if no run has
/// a full step.
ComputeFit fit_compute(const Runs& runs);

/// How the time of a rank's full step without waiting for the all-reduce varies
/// relative to its mean over steps and ranks of the run, which is 1.
struct NoiseFit {
  Distribution noise{1};
  Distribution by_speed{1};  ///< relative to each rank's mean, where --balance speed would act
  std::size_t samples = 0;   ///< steps of a rank; 0: nothing is known
  bool from_steps = false;   ///< from steps.csv, value by value; else from the spreads of run.json
};

/// From the steps.csv in each run's directory, if all have one.
NoiseFit fit_noise(const Runs& runs);

/// Time of a mean rank's images if all are ready at the same time, relative to what
/// it was: with equal parts the harmonic by the arithmetic mean of the ranks' times
/// of an image. The mean over the runs on several ranks, by their ranks; nothing
/// without such a run. Runs that --balance speed would leave as they are count as 1.
std::optional<double> fit_speed_shares(const Runs& runs);

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
  /// Standard deviation of a message relative to its mean, if messages are
  /// independent; NaN: unknown.
  double message_noise = kUnknown;
  Texts notes;  ///< what was left out, and why

  /// Where all links are taken to be of one kind.
  const std::optional<LinkFit>& only() const noexcept {
    if (between) return between;
    return inside;
  }
};

/// gamma from the runs' buckets, by the median of seconds adding / bytes added.
/// Alpha and beta of a level from the rows of bench records that are the
/// ring's; without any, from the runs' buckets: the median of each bucket's
/// time in messages. The ring's closed form ties them to P and bytes. A ring
/// over several hosts goes as fast as the links between these, and shows
/// nothing else. `gamma`: as it is known from elsewhere.
MachineFit fit_machine(const Runs& runs, const Benches& benches, std::optional<double> gamma = {});

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
  std::size_t classes = 0;     ///< 0: that of the runs, or 10
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
  std::size_t classes = 0;
  MachineFit machine;
  std::optional<ComputeFit> compute;  ///< nothing: given
  Texts notes;                        ///< what was assumed, and where it may not hold
};

/// The network that the model is for.
Graph graph_of(const CostFit& fit);

/// Fits all that is not given. Throws InputError where something is neither.
/// `like`: has the noise and the shares by speed; reading the steps of all runs takes long.
CostFit fit_cost(const Runs& runs, const Benches& benches, const Target& target, const Given& given,
                 const CostModel* like = nullptr);

/// What tells how sure a forecast is.
struct Certainty {
  /// The model as fitted without each of the runs: how far these differ shows
  /// how sure the fit is (the jackknife: B. Efron, C. Stein, *Annals of
  /// Statistics* 9(3), 586-596, 1981).
  std::vector<CostModel> without_one;
  /// How far single runs are from the model: standard deviations of the time of
  /// a step without its sums, and of the sums, relative to what it says.
  double compute = kUnknown, sums = kUnknown;
  std::size_t freedom = 0;  ///< degrees, of the less certain one; 0: nothing is known
  /// The one number of ranks above 1 that was measured; 0: there were several,
  /// or none. Nothing shows then that times change with it as the model says.
  std::size_t only_ranks = 0;

  /// Half of the 90 % interval of a figure of a single run, relative to it.
  template <typename Figure>
  double half_interval(const CostModel& model, Figure figure) const {
    return half_interval(figure(model), values_of(without_one, figure), single(model, figure));
  }
  /// Of one scenario. `one_rank`: the one with which its speedup compares.
  PlusMinus of(const CostModel& model, const Scenario& scenario, const Scenario& one_rank) const;
  /// These intervals, with the change from `only_ranks` in them where is_widened.
  PlusMinus widened(PlusMinus half, const CostModel& model, const Scenario& scenario) const;
  /// Whether its intervals contain the change from `only_ranks`.
  bool is_widened(const Scenario& scenario) const noexcept {
    return only_ranks > 0 && freedom > 0 && scenario.ranks > 1 && scenario.ranks != only_ranks;
  }
  /// What a reader of such intervals has to know.
  std::string note() const;

 private:
  double half_interval(double value, const std::vector<double>& others, double single) const;
  /// Standard deviation of single runs, relative to the figure.
  template <typename Figure>
  double single(CostModel model, Figure figure) const {
    const double value = figure(model);
    CostModel late = model;
    late.machine.slow_down(1 + sums);
    model.compute.slow_down(1 + compute);
    return std::hypot(figure(model) / value - 1, figure(late) / value - 1);
  }
};

/// Of a fit, from the same arguments. Nothing is known where a link or the
/// network shows in one of the runs alone.
Certainty certainty_of(const Runs& fitted, const CostFit& fit, const Benches& benches,
                       const Target& target, const Given& given);

/// Of runs with an epoch, those that a fit goes by: with a core for each
/// thread. `notes` names what is left out.
Runs usable_runs(const Runs& runs, Texts& notes);

/// Amounts as people write them, a number and a unit: 5us, 544ms, 10GB/s,
/// 1Gbit/s. Units are powers of 1000. Each throws InputError naming `option`,
/// which takes the text, and the units.

/// Seconds, of s, ms, us or ns; 0 is allowed.
double parse_seconds(const std::string& option, const std::string& text);
/// Bytes per second, of B/s, kB/s, MB/s, GB/s, TB/s, kbit/s, Mbit/s, Gbit/s or Tbit/s; above 0.
double parse_rate(const std::string& option, const std::string& text);
/// A share, as 20% or 0.2; from 0 on.
double parse_share(const std::string& option, const std::string& text);

/// Numbers of ranks, as 1,2,4, or 1,2,4,...,64 for what goes on by the same
/// factor or, if the last two of three do not have the factor of the first two,
/// by the same difference. Ascending, each once.
std::vector<std::size_t> parse_rank_list(const std::string& option, const std::string& text);

/// Another machine: one figure of the model changed, by a factor or to a value.
struct Change {
  void (*apply)(CostModel& model, const Change& change) = nullptr;
  double value = 1;  ///< bytes per second, seconds, or the factor
  bool is_factor = true;
};

/// Reads "bandwidth=2x,latency=5us": bandwidth and latency (between nodes; of
/// all links where there is one level), inside-bandwidth and inside-latency
/// (within nodes), add-rate (bytes added per second); compute-time (of a step,
/// all but communication) and noise (of the ranks' steps) take a factor only;
/// balance (ranks share by speed) has no value, and throws InputError when applied
/// to a model that does not know the ranks' speeds. Empty: no change. Throws
/// InputError naming the part.
std::vector<Change> parse_changes(const std::string& text);

/// An epoch time of P ranks.
struct MeasuredEpoch {
  std::size_t ranks = 1;
  double seconds = 0;
};

/// What a rank costs, and what is worth it.
struct Price {
  std::optional<double> per_rank_hour;  ///< in any currency
  std::optional<double> watts;          ///< of a rank
  double least_efficiency = 0.8;        ///< a share
};

/// `forecasts` by P. `one_rank`: the epoch on one rank of the same batch per
/// rank, or, for one global batch, of that.
Table forecast_table(const Forecasts& forecasts, const EpochForecast& one_rank, const Price& price);
Table fit_table(const CostFit& fit);
/// All runs of the network that the model is for, each next to its prediction.
/// Those on `fit_ranks` count as fitted; empty: all.
Table comparison_table(Runs runs, const CostFit& fit, const Certainty& certainty,
                       const std::vector<std::size_t>& fit_ranks);
/// Measured epochs, and how much of their loss compared with perfect scaling
/// the model explains. `scenarios`: of each of them, as for the forecast.
/// Throws InputError without one on one rank.
Table loss_table(const CostModel& model, const std::vector<MeasuredEpoch>& measured,
                 const std::vector<Scenario>& scenarios);
Table simulation_table(const std::vector<SimulatedSum>& sums, double noise);

}  // namespace rueda::predict
