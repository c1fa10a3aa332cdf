#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/ranges.h>

#include "base/json/json_fields.hpp"
#include "predict/predict.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kFormat = 1;
const std::string kRemedy = "give a file that rueda bench all-reduce --json wrote";

const std::tuple kRowFields{
    Field{"algorithm", &BenchRow::algorithm, shown}, Field{"bytes", &BenchRow::bytes},
    Field{"median_seconds", &BenchRow::median}, Field{"seconds", &BenchRow::seconds, if_any}};

BenchRow row_of(const JsonView& j) {
  BenchRow row;
  read_fields(j, row, kRowFields);
  if (!(row.bytes > 0)) j.at("bytes").refuse("is not positive");
  if (!(row.median > 0)) j.at("median_seconds").refuse("is not positive");
  return row;
}

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

/// Whether the times of the run's buckets mean what the ring's closed form says.
bool sums_like_a_ring(const RunResult& run) {
  if (!run.sums_go_over_links()) return false;
  return run.sums_by("ring") || run.sums_by("mpi") || run.sums_by("nccl");
}

/// Of a run on several ranks, those that are large enough.
std::vector<const BucketFigures*> large_buckets(const RunResult& run) {
  std::vector<const BucketFigures*> large;
  if (run.world_size() < 2 || !run.sums_go_over_links()) return large;
  for (const BucketFigures& b : run.summary.all_steps.buckets)
    if (b.bytes > kSmallBytes && b.busy.count > 0) large.push_back(&b);
  return large;
}

/// Seconds for each byte added, of each bucket.
std::vector<double> gammas(const Runs& runs) {
  std::vector<double> each;
  for (const RunResult& run : runs) {
    for (const BucketFigures* b : large_buckets(run))
      if (b->add.mean > 0) each.push_back(b->add.mean / added_bytes(run.world_size(), b->bytes));
  }
  return each;
}

std::optional<LinkFit> from_benches(const Benches& benches, bool inside, double gamma) {
  Level level;
  for (const BenchResult& bench : benches) {
    if (bench.ranks < 2 || (bench.hosts == 1) != inside) continue;
    for (const BenchRow& row : bench.rows) {
      if (row.algorithm != "ring" || row.bytes < 4.0 * double(bench.ranks)) continue;
      const double messages = row.median - added_bytes(bench.ranks, row.bytes) * gamma;
      level.add(bench.ranks, row.bytes, messages, bench.file.filename().string());
    }
  }
  return level.fitted();
}

std::optional<LinkFit> from_runs(const Runs& runs, bool inside) {
  Level level;
  for (const RunResult& run : runs) {
    if ((run.hosts() == 1) != inside || !sums_like_a_ring(run)) continue;
    const std::size_t ranks = run.world_size();
    // The mean, because a step waits for slow messages, too, and the median leaves them out.
    for (const BucketFigures* b : large_buckets(run))
      level.add(ranks, b->bytes, b->transfer.mean, fmt::format("runs, P = {}", ranks));
  }
  return level.fitted();
}

std::optional<LinkFit> fit_level(const Runs& runs, const Benches& benches, bool inside,
                                 double gamma) {
  const auto measured = from_benches(benches, inside, gamma);
  if (measured) return measured;
  return from_runs(runs, inside);
}

/// Relative to its mean, a sum of 2(P-1) independent messages varies 1 /
/// sqrt(2(P-1)) as much as a message. The deviation is taken from the quartiles
/// (1.349 of it apart in a normal distribution).
double message_noise(const Benches& benches) {
  std::vector<double> each;
  for (const BenchResult& bench : benches) {
    for (const BenchRow& row : bench.rows) {
      if (row.algorithm != "ring" || bench.ranks < 2 || row.seconds.size() < 8) continue;
      const double quartiles = quantile(row.seconds, 0.75) - quantile(row.seconds, 0.25);
      const double messages = 2 * (double(bench.ranks) - 1);
      each.push_back(std::min(1.0, quartiles / 1.349 / row.median * std::sqrt(messages)));
    }
  }
  return median_of(each);
}

/// Names the sums of runs that are no rings.
Texts notes_on_sums(const Runs& runs) {
  std::set<std::pair<bool, std::string>> sums;
  for (const RunResult& run : runs) {
    const bool like_a_ring = sums_like_a_ring(run);
    if (run.world_size() < 2 || (like_a_ring && run.sums_by("ring"))) continue;
    sums.emplace(like_a_ring, run.all_reduce);
  }
  Texts notes;
  for (const auto& [like_a_ring, name] : sums) {
    if (like_a_ring) {
      notes.push_back("For runs that summed gradients by " + name +
                      ", alpha and beta are those of a ring that takes the same time.");
    } else {
      notes.push_back("Runs that summed gradients by " + name +
                      " are not used for alpha and beta: their time is not that of a ring, and "
                      "shared memory sends no messages.");
    }
  }
  return notes;
}

}  // namespace

BenchResult read_bench(const std::filesystem::path& file) {
  const InputFile input{file, file.string(), kRemedy};
  const JsonView::Json json = read_json(input);
  const JsonView j(json, input);
  if (!j.has("rueda_bench") || !j.has("results")) j.refuse("is no record of rueda bench");
  j.require_version("rueda_bench", kFormat);
  BenchResult result;
  result.file = file;
  result.ranks = j.count("ranks");
  std::set<std::string> hosts;
  for (const JsonView& host : j.items("hosts")) hosts.insert(host.text());
  result.hosts = hosts.size();
  for (const JsonView& row : j.items("results")) result.rows.push_back(row_of(row));
  if (result.hosts == 0) j.at("hosts").refuse("names no host");
  return result;
}

MachineFit fit_machine(const Runs& runs, const Benches& benches, std::optional<double> gamma) {
  const std::vector<double> each = gammas(runs);
  MachineFit fit;
  fit.gamma_rows = each.size();
  if (!each.empty()) fit.gamma = median_of(each);
  if (gamma) fit.gamma = *gamma;
  fit.inside = fit_level(runs, benches, true, fit.gamma);
  fit.between = fit_level(runs, benches, false, fit.gamma);
  fit.message_noise = message_noise(benches);
  fit.notes = notes_on_sums(runs);
  return fit;
}

}  // namespace rueda::predict
