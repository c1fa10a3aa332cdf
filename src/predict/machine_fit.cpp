#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "rueda/predict/cost_fit.hpp"

namespace rueda::predict {
namespace {

/// Below it, `auto` sums otherwise than by the ring (docs/ring.md).
constexpr double kSmallBytes = 65'536;

/// Times of a ring's messages on one level, and where they are from.
struct Level {
  std::vector<PairRow> rows;
  std::set<std::string> sources;

  /// A ring's time in messages: 2(P-1) alpha + 2(P-1)/P N beta.
  void add(std::size_t ranks, double bytes, double seconds, const std::string& source) {
    const auto p = double(ranks);
    rows.push_back({2 * (p - 1), 2 * (p - 1) / p * bytes, seconds});
    sources.insert(source);
  }

  std::optional<LinkFit> fitted() const {
    if (rows.empty()) return std::nullopt;
    const PairFit fit = fit_pair(rows);
    return LinkFit{{fit.first, fit.second}, fit, fmt::format("{}", fmt::join(sources, ", "))};
  }
};

/// Bytes that a rank of a ring adds.
double added(std::size_t ranks, double bytes) {
  const auto p = double(ranks);
  return (p - 1) / p * bytes;
}

bool has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// Whether the times of the run's buckets mean what the ring's closed form says.
bool sums_like_a_ring(const RunResult& run) {
  return std::ranges::any_of(std::array{"ring", "shared", "mpi", "nccl"},
                             [&](const char* word) { return has(run.all_reduce, word); });
}

/// Calls `use(ranks, bucket)` for the buckets of a run on several ranks that are large enough.
template <typename Use>
void for_buckets(const RunResult& run, Use use) {
  if (run.world_size() < 2) return;
  for (const BucketResult& b : run.steady_communication.buckets) {
    if (b.bytes > kSmallBytes && b.busy.count > 0) use(run.world_size(), b);
  }
}

/// Seconds for each byte added, of each bucket.
std::vector<double> gammas(const std::vector<RunResult>& runs) {
  std::vector<double> each;
  for (const RunResult& run : runs) {
    for_buckets(run, [&](std::size_t ranks, const BucketResult& b) {
      if (b.add.median > 0) each.push_back(b.add.median / added(ranks, b.bytes));
    });
  }
  return each;
}

std::optional<LinkFit> from_benches(const std::vector<BenchResult>& benches, bool inside,
                                    double gamma) {
  Level level;
  for (const BenchResult& bench : benches) {
    if (bench.ranks < 2 || (bench.hosts == 1) != inside) continue;
    for (const BenchRow& row : bench.rows) {
      if (row.algorithm != "ring" || row.bytes < 4.0 * double(bench.ranks)) continue;
      const double messages = row.median - added(bench.ranks, row.bytes) * gamma;
      level.add(bench.ranks, row.bytes, messages, bench.file.filename().string());
    }
  }
  return level.fitted();
}

std::optional<LinkFit> from_runs(const std::vector<RunResult>& runs, bool inside) {
  Level level;
  for (const RunResult& run : runs) {
    if ((run.hosts.size() == 1) != inside || !sums_like_a_ring(run)) continue;
    for_buckets(run, [&](std::size_t ranks, const BucketResult& b) {
      level.add(ranks, b.bytes, b.transfer.median, fmt::format("runs, P = {}", ranks));
    });
  }
  return level.fitted();
}

std::optional<LinkFit> fit_level(const std::vector<RunResult>& runs,
                                 const std::vector<BenchResult>& benches, bool inside,
                                 double gamma) {
  const auto fit = from_benches(benches, inside, gamma);
  return fit ? fit : from_runs(runs, inside);
}

/// Relative to its mean, a sum of 2(P-1) independent messages varies 1 / sqrt(2(P-1)) as much as a
/// message. The deviation is taken from the quartiles (1.349 of it apart in a normal distribution).
double message_noise(const std::vector<BenchResult>& benches) {
  std::vector<double> each;
  for (const BenchResult& bench : benches) {
    for (const BenchRow& row : bench.rows) {
      if (row.algorithm != "ring" || bench.ranks < 2 || row.seconds.size() < 8) continue;
      const double quartiles = quantile(row.seconds, 0.75) - quantile(row.seconds, 0.25);
      const double messages = 2 * (double(bench.ranks) - 1);
      each.push_back(std::min(1.0, quartiles / 1.349 / row.median * std::sqrt(messages)));
    }
  }
  return each.empty() ? kUnknown : median_of(each);
}

/// Names the sums of runs that are no rings.
std::vector<std::string> notes_on_sums(const std::vector<RunResult>& runs) {
  std::set<std::string> left_out;
  std::set<std::string> otherwise;
  for (const RunResult& run : runs) {
    if (run.world_size() < 2 || has(run.all_reduce, "ring")) continue;
    (sums_like_a_ring(run) ? otherwise : left_out).insert(run.all_reduce);
  }
  std::vector<std::string> notes;
  for (const std::string& name : left_out) {
    notes.push_back("Runs that summed gradients by " + name +
                    " are not used for alpha and beta: their time is not that of a ring.");
  }
  for (const std::string& name : otherwise) {
    notes.push_back("For runs that summed gradients by " + name +
                    ", alpha and beta are those of a ring that takes the same time.");
  }
  return notes;
}

}  // namespace

MachineFit fit_machine(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                       std::optional<double> gamma) {
  const std::vector<double> each = gammas(runs);
  MachineFit fit;
  fit.gamma_rows = each.size();
  fit.gamma = gamma.value_or(each.empty() ? 0 : median_of(each));
  fit.inside = fit_level(runs, benches, true, fit.gamma);
  fit.between = fit_level(runs, benches, false, fit.gamma);
  fit.message_noise = message_noise(benches);
  fit.notes = notes_on_sums(runs);
  return fit;
}

}  // namespace rueda::predict
