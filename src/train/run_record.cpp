#include "rueda/train/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace rueda {
namespace {

double slowest(const ByRank<StepRecord>& records, std::size_t step, double StepRecord::*member) {
  double most = 0;
  for (const auto& rank : records) most = std::max(most, rank.at(step).*member);
  return most;
}

double least_exposed(const ByRank<StepRecord>& records, std::size_t step) {
  double least = INFINITY;
  for (const auto& rank : records) least = std::min(least, rank.at(step).phases[kAllReduce]);
  return least;
}

void add_step(KindSums& sums, const ByRank<StepRecord>& records, std::size_t step) {
  sums.ranks.resize(records.size());
  for (std::size_t r = 0; r < records.size(); ++r) sums.ranks[r] += records[r].at(step);
  sums.slowest.push_back(slowest(records, step, &StepRecord::seconds));
  sums.slowest_busy.push_back(slowest(records, step, &StepRecord::all_reduce_busy));
  sums.least_exposed.push_back(least_exposed(records, step));
}

}  // namespace

bool is_kind(const StepRecord& step, std::size_t global_batch, StepKind kind) noexcept {
  if (kind == StepKind::all) return true;
  return (step.global_samples == global_batch) == (kind == StepKind::full);
}

void RankSums::operator+=(const StepRecord& s) {
  *this += RankSums{.steps = 1,
                    .samples = s.samples,
                    .seconds = s.seconds,
                    .phases = s.phases,
                    .busy = s.all_reduce_busy,
                    .wait = s.all_reduce_wait,
                    .add = s.all_reduce_add,
                    .prepare = s.prepare_busy,
                    .copy = s.copy_busy,
                    .copy_bytes = double(s.copy_bytes),
                    .cores_got = s.cores.got,
                    .cores_wanted = s.cores.wanted};
}

void RankSums::operator+=(const RankSums& other) {
  steps += other.steps;
  samples += other.samples;
  for (std::size_t p = 0; p < kPhases; ++p) phases[p] += other.phases[p];
  for (const auto sum :
       {&RankSums::seconds, &RankSums::busy, &RankSums::wait, &RankSums::add, &RankSums::prepare,
        &RankSums::copy, &RankSums::copy_bytes, &RankSums::cores_got, &RankSums::cores_wanted})
    this->*sum += other.*sum;
}

void KindSums::operator+=(const KindSums& other) {
  ranks.resize(std::max(ranks.size(), other.ranks.size()));
  for (std::size_t r = 0; r < other.ranks.size(); ++r) ranks[r] += other.ranks[r];
  slowest.insert(slowest.end(), other.slowest.begin(), other.slowest.end());
  slowest_busy.insert(slowest_busy.end(), other.slowest_busy.begin(), other.slowest_busy.end());
  least_exposed.insert(least_exposed.end(), other.least_exposed.begin(), other.least_exposed.end());
}

Energy total_energy(const std::vector<Energy>& of_ranks, const std::vector<RankInfo>& ranks) {
  Energy total{0, 0};
  std::set<std::pair<std::string, std::string>> counted;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    total.hosts += of_ranks[rank].hosts;
    // Ranks that share a GPU read its one counter at nearly the same moments.
    if (counted.emplace(ranks[rank].host, ranks[rank].uuid).second)
      total.gpus += of_ranks[rank].gpus;
  }
  return total;
}

EpochSums sum_up(const ByRank<StepRecord>& records, std::size_t global_batch) {
  EpochSums sums;
  for (std::size_t i = 0; !records.empty() && i < records.front().size(); ++i) {
    if (is_kind(records.front()[i], global_batch, StepKind::full))
      add_step(sums.full, records, i);
    else
      add_step(sums.partial, records, i);
  }
  return sums;
}

}  // namespace rueda
