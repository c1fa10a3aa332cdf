#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::predict {

/// What a message costs on a link: alpha + bytes * beta (R. Hockney: The
/// communication challenge for MPP, *Parallel Computing* 20(3), 389-398, 1994).
struct Link {
  double alpha = 0;  ///< seconds for each message
  double beta = 0;   ///< seconds for each byte, 1 / bandwidth
  double message_seconds(double bytes) const noexcept { return alpha + bytes * beta; }
};

/// A machine of nodes with `ranks_per_node` ranks each, the last node with as
/// many as are left. Ranks are dealt node by node. One level: all ranks on one
/// node, or one rank on each.
struct Machine {
  Link inside;       ///< between ranks of a node
  Link between;      ///< between nodes
  double gamma = 0;  ///< seconds for each byte that a rank adds
  std::size_t ranks_per_node = 1;
  /// How many messages of a node's ranks go out at full speed at the same time; more share.
  std::size_t links_per_node = 1;

  bool spans_nodes(std::size_t ranks) const noexcept { return ranks > ranks_per_node; }
  /// Makes every sum take so many times as long.
  void slow_down(double factor) noexcept {
    for (double* cost : {&inside.alpha, &inside.beta, &between.alpha, &between.beta, &gamma})
      *cost *= factor;
  }
};

/// Which all-reduce is predicted, as rueda does it (docs/ring.md); `best` takes
/// for each slice the one that the model says is the quickest.
enum class Scheme { ring, hierarchical, doubling, best };
constexpr auto words_of(Scheme) { return std::array{"ring", "hierarchical", "doubling", "best"}; }

/// Seconds of a sum of `bytes` over all ranks, from the moment at which all
/// have begun to the one at which all are done. 0 on one rank. Sources: P.
/// Patarasuk, X. Yuan, *JPDC* 69(2), 2009, for the ring; R. Thakur, R.
/// Rabenseifner, W. Gropp, *IJHPCA* 19(1), 2005, for the model and doubling.

/// 2(P-1) messages of 1/P; the first half is added. All ranks of a ring move in step, so each step
/// takes as long as its slowest link. Only one rank of a node sends to another node.
double ring_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// The same for a device that adds one segment of a chunk while the next one
/// travels, in `segments` of equal length: as many messages in each step of the
/// reduce-scatter, whose additions hide behind messages or messages behind
/// additions, whichever takes longer; one of the other is left over.
double segmented_ring_seconds(const Machine& machine, std::size_t ranks, double bytes,
                              std::size_t segments);

/// Bytes of the segments in which such a ring sends a chunk, whatever its
/// length: the least power of two at which a chunk takes longer as a whole than
/// in two halves. 0: none up to 1 GiB, chunks are not cut.
std::size_t best_segment_bytes(const Machine& machine, std::size_t ranks);

/// As HierarchicalAllReduce: reduce-scatter inside each node, rings between
/// ranks of equal place on all nodes, all at the same time, all-gather inside.
/// Nodes are taken to have the same number of ranks. On one level it is the
/// ring.
double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// As DoublingAllReduce, for any number of ranks: the longest chain of
/// messages, each of all bytes. Blocks of ranks that are larger than a node
/// talk between nodes, with all their ranks at once.
double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// Bytes that a rank of a ring adds.
double added_bytes(std::size_t ranks, double bytes) noexcept;

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes);

/// A ring all-reduce whose messages do not all take the same time.
struct RingSimulation {
  std::size_t ranks = 1;
  double message_seconds = 0;  ///< mean of a message of one chunk
  double add_seconds = 0;      ///< of adding one
  /// How much messages vary: each takes message_seconds * (1 + noise * (e -
  /// 1)), e drawn from an exponential distribution of mean 1, anew for each
  /// message. From 0 to 1: their standard deviation relative to their mean.
  double noise = 0;
  std::uint64_t seed = 1;
};

/// Seconds until the last rank has all sums. Follows every rank through the
/// 2(P-1) steps: a step begins when the rank and its left neighbour have
/// finished the one before. Deterministic.
///
/// Without noise it is ring_seconds(). With it, a rank that waits delays its
/// right neighbour: the time is that of the slowest chain of messages through
/// the ring. For large P it tends to (1 + noise) times the messages' share,
/// because the largest sum of n exponential values along such chains tends to
/// 2n (H. Rost: Non-equilibrium behaviour of a many particle process, *Z.
/// Wahrscheinlichkeitstheorie* 58, 41-53, 1981).
double simulate_ring(const RingSimulation& ring);

/// How a time varies, as its quantile function: linear between knots.
class Distribution {
 public:
  /// The one value.
  explicit Distribution(double value = 0) : knots_{{0, value}, {1, value}} {}
  /// Measured values, linear between neighbours as `quantile` of
  /// record/statistics.hpp. Nothing lies beyond the least and the most of them.
  /// Throws std::invalid_argument without values.
  static Distribution of_sample(std::vector<double> values);
  /// From the least, the median, the 90th percentile and the most of a spread.
  static Distribution of_spread(const Spread& spread);
  /// The value below which the share `u` of the values lies.
  double quantile(double u) const;
  double mean() const { return expected_max(1); }
  /// The mean of the largest of `count` independent values: the integral of the
  /// quantile function to v^count, in closed form between knots.
  double expected_max(double count) const;
  /// The same mean, every distance from it times `factor`.
  Distribution spread_by(double factor) const;

 private:
  struct Knot {
    double u = 0;
    double value = 0;
  };
  explicit Distribution(std::vector<Knot> knots) : knots_(std::move(knots)) {}

  std::vector<Knot> knots_;  ///< u ascending from 0 to 1
};

/// Where a rank's time goes in a step, but for communication.
struct ComputeModel {
  double fixed = 0;      ///< t0: seconds of forward, loss and backward, whatever the batch
  double per_image = 0;  ///< t1: seconds of these for each image
  double backward_share = 2.0 / 3;  ///< of these, backward's
  double input_per_image = 0;       ///< load and copy
  double update = 0;                ///< optimizer and other: seconds of a step

  double compute_seconds(double images) const noexcept { return fixed + per_image * images; }
  double other_seconds(double images) const noexcept { return input_per_image * images + update; }
  /// Makes everything take so many times as long.
  void slow_down(double factor) noexcept {
    for (double* seconds : {&fixed, &per_image, &input_per_image, &update}) *seconds *= factor;
  }
  /// The same but for the update, which takes as long with fewer images.
  void slow_down_images(double factor) noexcept {
    for (double* seconds : {&fixed, &per_image, &input_per_image}) *seconds *= factor;
  }
};

/// A slice of the gradients that is summed by one all-reduce.
struct Bucket {
  double bytes = 0;
  double ready = 1;  ///< share of backward after which it is complete
};

/// Buckets as training would cut the gradients of `graph` (docs/overlap.md).
/// The time of backward is divided over the layers by their FLOPs.
std::vector<Bucket> bucket_schedule(const Graph& graph, std::size_t most_bytes);
/// The same for buckets that a run had, by their bytes in the order of summing.
/// Those that do not fit the graph are complete when backward ends.
std::vector<Bucket> bucket_schedule(const Graph& graph, std::span<const std::size_t> bytes);

/// Moments of one step's communication, from the beginning of backward; seconds.
struct BucketTimes {
  double all_reduce = 0;  ///< of all buckets, one after the other
  double ended = 0;       ///< the last one is summed
  double exposed = 0;     ///< of this, after backward
};

/// Buckets are summed one at a time and in order, each not before it is
/// complete; without overlap, not before backward is over. `seconds` is how
/// long each takes.
BucketTimes run_buckets(std::span<const Bucket> buckets, std::span<const double> seconds,
                        double backward, bool overlap);

/// Of the sizes that `--bucket-mb auto` considers, the one with which the last
/// bucket is summed first; a smaller one only where it gains more than 1 %.
/// `sum`: what the sum of a bucket costs over all ranks; `backward`: seconds.
double choose_bucket_mb(const Graph& graph, const Link& sum, double backward);

/// Ranks that share each batch by their speed (--balance speed).
struct SpeedShares {
  double images = 1;      ///< time of a mean rank's images, relative to what was measured
  Distribution noise{1};  ///< of a rank's step without waiting, relative to that rank's mean
};

/// All that is known of a machine and a network on it.
struct CostModel {
  ComputeModel compute;
  Machine machine;
  Distribution noise{1};     ///< of a rank's step without waiting, relative to its mean
  double message_noise = 0;  ///< of messages, see RingSimulation
  std::vector<Bucket> buckets;
  std::optional<SpeedShares> by_speed;  ///< nothing: no run shows how fast each rank is
  bool shares_by_speed = false;         ///< whether that holds, and not what was measured
};

/// What is to be predicted.
struct Scenario {
  std::size_t ranks = 1;
  std::size_t global_batch = 1;  ///< images of a full step
  std::size_t images = 1;        ///< of an epoch
  std::size_t micro_batches = 1;
  Scheme scheme = Scheme::ring;
  bool overlap = false;
  /// By what share the messages of a sum take longer because they are noisy (simulate_ring()).
  double message_delay = 0;
};

/// Where a step goes; seconds. The four parts add up to it.
struct StepForecast {
  double compute = 0;     ///< forward, loss, backward of a mean rank
  double rest = 0;        ///< input, optimizer, bookkeeping
  double straggling = 0;  ///< by how much the slowest rank is later than the mean one
  double exposed = 0;     ///< communication that is not hidden
  double all_reduce = 0;  ///< communication, hidden or not
  double seconds() const noexcept { return compute + rest + straggling + exposed; }
};

/// Half of the 90 % interval of a single run, relative to the figure; NaN: unknown.
struct PlusMinus {
  double epoch = NAN;  ///< also of what is proportional to it: a step, images/s, rank-hours
  double speedup = NAN;
  double all_reduce = NAN;
};

struct EpochForecast {
  Scenario scenario;
  std::size_t full_steps = 0;
  std::size_t partial_images = 0;  ///< of the last step, 0: it is full
  StepForecast full = {};          ///< of a full step; of the only one where there is none
  StepForecast partial = {};       ///< all 0 without one
  double seconds = 0;
  PlusMinus plus_minus = {};

  std::size_t steps() const noexcept { return full_steps + (partial_images > 0 ? 1 : 0); }
  double images_per_second() const noexcept { return double(scenario.images) / seconds; }
};
using Forecasts = std::vector<EpochForecast>;

/// A step of `images` images over all ranks. Each rank has as many as even_split gives the largest.
StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images);
/// An epoch: full steps, then a partial one with what is left.
EpochForecast forecast_epoch(const CostModel& model, const Scenario& scenario);

/// One sum on a noisy ring, and the closed form; seconds.
struct SimulatedSum {
  std::size_t ranks = 1;
  double bytes = 0;
  double closed = 0;      ///< by the closed form
  double quiet = 0;       ///< simulated without noise
  double noisy = 0;       ///< simulated, mean over rings
  std::size_t rings = 0;  ///< with noise

  /// By what share messages took longer than without noise; 0 on one rank.
  /// `gamma`: seconds for each byte added, which no noise prolongs.
  double delay(double gamma) const noexcept;
};

/// The largest bucket of the model on a ring whose every link is as slow as the
/// slowest. Small rings are simulated up to 1000 times, large ones once.
SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed);

}  // namespace rueda::predict
