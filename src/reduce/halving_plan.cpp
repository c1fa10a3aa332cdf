#include "reduce/halving_plan.hpp"

#include <vector>

namespace rueda {
namespace {

/// The ranks that work: as many as the largest power of two that P reaches. The
/// first ones, one of each pair, work for two.
struct HalvingFold {
  int workers = 1;
  int pairs = 0;

  static constexpr HalvingFold of(int ranks) noexcept {
    const int workers = int(std::bit_floor(unsigned(ranks)));
    return {workers, ranks - workers};
  }
  constexpr int rank_of(int worker) const noexcept {
    return worker < pairs ? 2 * worker : worker + pairs;
  }
  constexpr bool is_folded(int rank) const noexcept { return rank < 2 * pairs && rank % 2 == 1; }
  /// Of a rank that is not folded.
  constexpr int worker_of(int rank) const noexcept {
    return rank < 2 * pairs ? rank / 2 : rank - pairs;
  }
};

/// A round of the reduce-scatter of one worker.
struct HalvingRound {
  int partner = 0;
  Range sent;  ///< chunks
  Range kept;
};

std::vector<HalvingRound> halving_rounds(int worker, int workers) {
  std::vector<HalvingRound> rounds;
  Range held{0, std::size_t(workers)};
  for (int distance = 1; distance < workers; distance *= 2) {
    const std::size_t middle = held.begin + held.size() / 2;
    const Range lower{held.begin, middle};
    const Range upper{middle, held.end};
    const bool keeps_upper = (worker & distance) != 0;
    held = keeps_upper ? upper : lower;
    rounds.push_back({worker ^ distance, keeps_upper ? lower : upper, held});
  }
  return rounds;
}

}  // namespace

PairPlan halving_plan(int rank, int ranks) {
  const HalvingFold fold = HalvingFold::of(ranks);
  PairPlan plan{std::size_t(fold.workers)};
  const Range all{0, plan.chunks};
  auto& steps = plan.steps;
  if (fold.is_folded(rank)) {
    steps.push_back({.phase = "fold", .peer = rank - 1, .sent = all});
    steps.push_back({.phase = "unfold", .peer = rank - 1, .received = all});
    return plan;
  }
  const int worker = fold.worker_of(rank);
  const bool works_for_two = worker < fold.pairs;
  if (works_for_two)
    steps.push_back({.phase = "fold", .peer = rank + 1, .received = all, .adds = true});
  const auto rounds = halving_rounds(worker, fold.workers);
  for (const auto& [partner, sent, kept] : rounds)
    steps.push_back({"reduce-scatter", fold.rank_of(partner), sent, kept, true});
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round)
    steps.push_back({"all-gather", fold.rank_of(round->partner), round->kept, round->sent, false});
  if (works_for_two) steps.push_back({.phase = "unfold", .peer = rank + 1, .sent = all});
  return plan;
}

}  // namespace rueda
