#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "observation.hpp"
#include "study/estimate.hpp"

namespace rueda {

/// What stays the same while P grows.
enum class Scaling {
  weak,    ///< images per rank and step; an epoch has fewer steps
  strong,  ///< the global batch; every step has less for each rank
  single   ///< only one P was run
};

const char* to_string(Scaling scaling);

/// All repeats of one configuration.
struct Point {
  std::size_t ranks = 1;
  std::size_t hosts = 1;
  std::size_t rank_batch = 0;  ///< 0 if ranks differ
  std::size_t global_batch = 0;
  double images = kUnknown;  ///< of an epoch
  std::size_t steps = 0;     ///< of an epoch
  std::size_t repeats = 0;
  Estimate epoch;  ///< over repeats; rounding where a log rounds
  Estimate first_epoch;
  Estimate full_step;
  Estimate mean_step;
  Estimate printed_epoch;  ///< as a log prints it; unknown if nothing was rounded
  bool oversubscribed = false;
  bool includes_warm_up = false;
  std::vector<const RunResult*> runs;  ///< rueda's; empty for others
};

/// One model on one kind of machine, P ascending: a line in a plot.
struct Series {
  std::string id;     ///< for programs: unique in a report
  std::string label;  ///< for people: "resnet18, 128 per rank"
  std::string source;
  std::string model;
  std::string variant;
  Processor processor = Processor::cpu;
  std::size_t image_size = 0;
  Scaling scaling = Scaling::single;
  std::size_t batch = 0;  ///< per rank (weak) or global (strong, single)
  std::vector<Point> points;
};

/// Sorts observations into series. A run belongs to the weak series of its rank batch and to the
/// strong one of its global batch, so a P = 1 run may serve both; a series needs two values of P,
/// and runs that then belong to none form series of one point. Observations whose source, model,
/// variant, image size, processor or images differ are never in one series.
std::vector<Series> make_series(const std::vector<Observation>& observations);

/// What P ranks gained over the fewest that were run, P0 (1 where there is such a run), which count
/// as P0. Epoch view: S = P0 T(P0) / T(P) from epoch times T. Step view: the same from the image
/// rates of full steps, S = P0 (B(P) / t(P)) / (B(P0) / t(P0)) with global batches B. Efficiency is
/// S / P.
struct Speedup {
  Estimate speedup;
  Estimate efficiency;
};
Speedup epoch_speedup(const Series& series, const Point& point);
Speedup step_speedup(const Series& series, const Point& point);

/// Images per second over all ranks.
Estimate throughput(const Point& point);

}  // namespace rueda
