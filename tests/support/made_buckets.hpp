#pragma once

#include <string>
#include <vector>

#include "rueda/study/study.hpp"

namespace rueda::test {

/// A link, and how fast ranks add: all in seconds.
struct MadeLink {
  double alpha = 0, beta = 0, gamma = 0;
};

/// A run whose every bucket took what a ring takes: 2(P-1) messages of 1/P, of which P-1 are added.
inline RunResult ring_run(std::size_t ranks, std::size_t hosts, const MadeLink& link,
                          const std::vector<double>& buckets) {
  RunResult run;
  run.all_reduce = "ring";
  run.ranks.resize(ranks);
  for (std::size_t h = 0; h < hosts; ++h) run.hosts.push_back("h" + std::to_string(h));
  const auto p = double(ranks);
  for (const double bytes : buckets) {
    const double chunk = bytes / p;
    BucketResult bucket;
    bucket.bytes = bytes;
    bucket.busy.count = 10;
    bucket.transfer.median = 2 * (p - 1) * (link.alpha + chunk * link.beta);
    bucket.add.median = (p - 1) * chunk * link.gamma;
    run.steady_communication.buckets.push_back(bucket);
  }
  return run;
}

}  // namespace rueda::test
