#include "machine_fit.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "rueda/record/statistics.hpp"

namespace rueda::predict {
namespace {

/// Below it, `auto` sums otherwise than by the ring (docs/ring.md).
constexpr double kSmallBytes = 65'536;

/// What one kind of source tells of a level.
struct Level {
  std::vector<PairRow> rows;
  std::set<std::string> sources;

  LinkFit fitted() const {
    const PairFit fit = fit_pair(rows);
    std::string text;
    for (const std::string& source : sources) text += (text.empty() ? "" : ", ") + source;
    return {{fit.first, fit.second}, fit, text};
  }
};

/// A ring's time in messages: 2(P-1) alpha + 2(P-1)/P N beta.
PairRow ring_row(std::size_t ranks, double bytes, double seconds) {
  const auto p = static_cast<double>(ranks);
  return {2 * (p - 1), 2 * (p - 1) / p * bytes, seconds};
}

/// Bytes that a rank of a ring adds.
double added(std::size_t ranks, double bytes) {
  const auto p = static_cast<double>(ranks);
  return (p - 1) / p * bytes;
}

bool has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// Whether the times of the run's buckets mean what the ring's closed form says.
bool sums_like_a_ring(const RunResult& run) {
  return has(run.all_reduce, "ring") || has(run.all_reduce, "shared") ||
         has(run.all_reduce, "mpi") || has(run.all_reduce, "nccl");
}

bool tells(const BucketResult& bucket) {
  return bucket.bytes > kSmallBytes && bucket.busy.count > 0;
}

void take_gamma(MachineFit& fit, const std::vector<RunResult>& runs) {
  std::vector<double> each;
  for (const RunResult& run : runs) {
    if (run.world_size() < 2) continue;
    for (const BucketResult& b : run.steady_communication.buckets) {
      if (tells(b) && b.add.median > 0) {
        each.push_back(b.add.median / added(run.world_size(), b.bytes));
      }
    }
  }
  fit.gamma_rows = each.size();
  if (!each.empty()) fit.gamma = median_of(each);
}

std::optional<LinkFit> from_benches(const std::vector<BenchResult>& benches, bool inside,
                                    double gamma) {
  Level level;
  for (const BenchResult& bench : benches) {
    if (bench.ranks < 2 || (bench.hosts == 1) != inside) continue;
    for (const BenchRow& row : bench.rows) {
      if (row.algorithm != "ring" || row.bytes < 4.0 * static_cast<double>(bench.ranks)) continue;
      const double messages = row.median - added(bench.ranks, row.bytes) * gamma;
      level.rows.push_back(ring_row(bench.ranks, row.bytes, messages));
      level.sources.insert(bench.file.filename().string());
    }
  }
  if (level.rows.empty()) return std::nullopt;
  return level.fitted();
}

std::optional<LinkFit> from_runs(const std::vector<RunResult>& runs, bool inside) {
  Level level;
  for (const RunResult& run : runs) {
    if (run.world_size() < 2 || (run.hosts.size() == 1) != inside || !sums_like_a_ring(run))
      continue;
    for (const BucketResult& b : run.steady_communication.buckets) {
      if (!tells(b)) continue;
      level.rows.push_back(ring_row(run.world_size(), b.bytes, b.transfer.median));
      level.sources.insert(fmt::format("runs, P = {}", run.world_size()));
    }
  }
  if (level.rows.empty()) return std::nullopt;
  return level.fitted();
}

std::optional<LinkFit> fit_level(const std::vector<RunResult>& runs,
                                 const std::vector<BenchResult>& benches, bool inside,
                                 double gamma) {
  const auto fit = from_benches(benches, inside, gamma);
  return fit ? fit : from_runs(runs, inside);
}

/// Sums of 2(P-1) independent messages vary 1 / sqrt(2(P-1)) as much, beside their mean, as each
/// message. The quartiles stand for the deviation (1.349 of them in a normal distribution).
double message_noise(const std::vector<BenchResult>& benches) {
  std::vector<double> each;
  for (const BenchResult& bench : benches) {
    for (const BenchRow& row : bench.rows) {
      if (row.algorithm != "ring" || bench.ranks < 2 || row.seconds.size() < 8) continue;
      const double quartiles = quantile(row.seconds, 0.75) - quantile(row.seconds, 0.25);
      const double messages = 2 * (static_cast<double>(bench.ranks) - 1);
      each.push_back(std::min(1.0, quartiles / 1.349 / row.median * std::sqrt(messages)));
    }
  }
  return each.empty() ? kUnknown : median_of(each);
}

void remark(MachineFit& fit, const std::vector<RunResult>& runs) {
  std::set<std::string> left_out;
  std::set<std::string> otherwise;
  for (const RunResult& run : runs) {
    if (run.world_size() < 2) continue;
    if (!sums_like_a_ring(run)) left_out.insert(run.all_reduce);
    if (sums_like_a_ring(run) && !has(run.all_reduce, "ring")) otherwise.insert(run.all_reduce);
  }
  for (const std::string& name : left_out) {
    fit.notes.push_back("Runs whose gradients were summed by " + name +
                        " tell nothing of the links: their time is no ring's.");
  }
  for (const std::string& name : otherwise) {
    fit.notes.push_back("Where gradients were summed by " + name +
                        ", alpha and beta are what it took in the ring's terms.");
  }
}

}  // namespace

MachineFit fit_machine(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                       std::optional<double> gamma) {
  MachineFit fit;
  take_gamma(fit, runs);
  fit.gamma = gamma.value_or(fit.gamma);
  fit.inside = fit_level(runs, benches, true, fit.gamma);
  fit.between = fit_level(runs, benches, false, fit.gamma);
  fit.message_noise = message_noise(benches);
  remark(fit, runs);
  return fit;
}

}  // namespace rueda::predict
