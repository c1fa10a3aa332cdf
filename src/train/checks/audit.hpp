#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rueda/train/trainer.hpp"
#include "train/phase_timer.hpp"
#include "train/train_input.hpp"

namespace rueda {

/// An audit compares two computations: rank r computes micro-batch `micro_batch`
/// of rank r + `distance`, modulo the number of ranks. Without `others` each
/// rank repeats its own.
struct AuditTurn {
  std::size_t distance = 0, micro_batch = 0;
};
constexpr AuditTurn audit_turn(std::size_t audit, std::size_t others, std::size_t micro_batches) {
  if (others == 0) return {0, audit % micro_batches};
  return {1 + audit % others, audit / others % micro_batches};
}

/// Looks for wrong arithmetic. In every N-th step each rank also computes one
/// micro-batch of another rank, and the hashes of both gradients are compared:
/// arithmetic is deterministic, so they are equal or one of them is wrong.
/// Neither replica hashes nor check sums of messages see that, because a wrong
/// gradient enters the sum and then all replicas alike.
///
/// In audit number n rank r computes for rank r + d, d = 1 + n mod (P-1). Which
/// of the K micro-batches it is advances when all d have passed. So every rank
/// audits every other, and each layer is in every gradient.
///
/// With --audit-by self, and on one rank alone, each rank repeats its own
/// micro-batch, as torchtitan's replay does: two computations that differ name
/// the rank at once, but an error that repeats stays unseen.
class Audit {
 public:
  /// `input` loads any micro-batch unless it streams; then the audit has its own.
  Audit(const TrainerParts& parts, const Sampler& sampler, TrainInput& input, PhaseTimer& timer,
        RunRecord& run);

  bool due(std::size_t global_step) const;
  /// Computes the micro-batch that is audited; `step` from 0, within `epoch`. No
  /// gradients may be on their way: the arena is used.
  void begin(std::size_t global_step, std::size_t epoch, std::size_t step, float scale);
  /// The one of each rank that this step's audit is about; the first where there is none.
  std::size_t micro_batch() const { return turn_.micro_batch; }
  /// The own one of that number was computed and still is in the arena.
  void computed();
  /// Collective, after all of this step's micro-batches: compares. Where somebody
  /// is wrong, finds who, and throws RunError, alike on every rank.
  void compare(const std::string& step);

 private:
  using Hashes = std::vector<std::uint64_t>;

  std::size_t auditor(std::size_t owner) const;

  /// One for each parameter, and one for the batch statistics.
  Hashes hashes() const;

  Hashes compute(std::size_t owner);

  /// Has the micro-batch of `owner` computed once more if another rank audited it.
  /// From three ranks on a third one decides. Two ranks compute again: if that
  /// agrees, what differs from it was wrong; if not, nobody can say.
  std::vector<std::size_t> wrong_ranks(std::size_t owner, const ByRank<std::uint64_t>& own,
                                       const ByRank<std::uint64_t>& theirs);

  std::string differences(const Hashes& one, const Hashes& other) const;

  const TrainerParts& parts_;
  std::size_t others_;  ///< ranks that a rank audits
  std::unique_ptr<TrainInput> own_input_;
  TrainInput& input_;
  PhaseTimer& timer_;
  RunRecord& run_;
  bool under_way_ = false;
  AuditTurn turn_;
  std::size_t global_step_ = 0;
  MicroBatch at_;
  float scale_ = 1;
  Hashes own_, theirs_;
};

}  // namespace rueda
