#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rueda/train/trainer.hpp"
#include "train_input.hpp"

namespace rueda {

/// Looks for wrong arithmetic. In every N-th step each rank also computes one
/// micro-batch of another rank, and the hashes of both gradients are compared:
/// arithmetic is deterministic, so they are equal or one of them is wrong.
/// Neither replica hashes nor check sums of messages see that, because a wrong
/// gradient enters the sum and then all replicas alike.
///
/// In audit number n rank r computes for rank r + d, d = 1 + n mod (P-1). Which
/// of the K micro-batches it is advances when all d have passed. So every rank
/// audits every other, and each layer is in every gradient. One rank alone
/// repeats its own micro-batch.
class Audit {
 public:
  /// `input` loads any micro-batch unless it streams; then the audit has its own.
  Audit(const TrainerParts& parts, const Sampler& sampler, TrainInput& input, PhaseTimer& timer,
        RunRecord& run);

  bool due(std::size_t global_step) const;
  /// Loads any micro-batch, as often as wanted.
  TrainInput& input() { return input_; }
  /// Computes the other rank's micro-batch; `step` from 0, within `epoch`. No
  /// gradients may be on their way: the arena is used.
  void begin(std::size_t global_step, std::size_t epoch, std::size_t step, float scale);
  /// The one of each rank that this step's audit is about; the first where there is none.
  std::size_t micro_batch() const { return micro_batch_; }
  /// The own one of that number was computed and still is in the arena.
  void computed() {
    if (under_way_) own_ = hashes();
  }
  /// Collective, after all of this step's micro-batches: compares, and finds who
  /// is wrong. True: somebody was, and the step is to be computed again. Throws
  /// RunError, alike on every rank, with --on-audit stop, and where a step was
  /// `repeated`.
  bool finds(const std::string& step, bool repeated);

 private:
  using Hashes = std::vector<std::uint64_t>;

  std::size_t auditor(std::size_t owner) const;
  Hashes hashes() const;
  Hashes compute(std::size_t owner);
  /// Has somebody compute the micro-batch of `owner` once more.
  std::vector<std::size_t> wrong_ranks(std::size_t owner, const ByRank<std::uint64_t>& own,
                                       const ByRank<std::uint64_t>& theirs);
  std::string differences(const Hashes& one, const Hashes& other) const;

  const TrainerParts& parts_;
  std::unique_ptr<TrainInput> own_input_;
  TrainInput& input_;
  PhaseTimer& timer_;
  RunRecord& run_;
  bool under_way_ = false;
  std::size_t distance_ = 0, micro_batch_ = 0;
  MicroBatch at_;
  float scale_ = 1;
  Hashes own_, theirs_;
};

}  // namespace rueda
