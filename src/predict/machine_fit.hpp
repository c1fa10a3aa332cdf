#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench_result.hpp"
#include "machine.hpp"
#include "pair_fit.hpp"
#include "rueda/study/run_result.hpp"

namespace rueda::predict {

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
  double gamma = 0;                ///< seconds for each byte added; 0: nothing told it
  std::size_t gamma_rows = 0;      ///< buckets that told it
  /// Standard deviation of a message beside its mean, as if messages were independent; NaN: nothing
  /// told it.
  double message_noise = kUnknown;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// gamma from the runs' buckets, by the median of seconds adding / bytes added. Alpha and beta of a
/// level from the rows of bench records that are the ring's; without any, from the runs' buckets:
/// the median of each bucket's time in messages. The ring's closed form ties them to P and bytes. A
/// ring over several hosts goes as fast as the links between these, and tells nothing else.
/// `gamma`: as it is known from elsewhere.
MachineFit fit_machine(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                       std::optional<double> gamma = {});

}  // namespace rueda::predict
