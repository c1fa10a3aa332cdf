#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reduce/cost_model.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cost {

/// A slice of the gradients that is summed by one all-reduce.
struct Bucket {
  double bytes = 0;
  double ready = 1;  ///< share of backward after which it is complete
};

/// Buckets as training would cut the gradients of `graph` (docs/ring.md#two-threads).
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

}  // namespace rueda::cost
