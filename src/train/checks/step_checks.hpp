#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/replica.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Injects the fault of RUEDA_INJECT if `rank` and `step` (global, from 1) are
/// those of the fault: flips one bit of the middle parameter, makes the first
/// weight of the classifier NaN, or sends this process a signal. Called at the
/// start of a step.
void inject_fault(const InjectedFault& fault, std::size_t rank, std::size_t step, Replica& replica);

/// Injects a fault in arithmetic, which the next micro-batch suffers: one bit
/// flips, chosen by the seed and the fault. A permanent one hits whatever the
/// rank computes from its step on, another only the micro-batch that is `meant`.
/// They end with Replica::disturb({}).
void inject_flip(const TrainConfig& config, std::size_t rank, std::size_t step, bool meant,
                 Replica& replica);

/// "epoch 2, step 17", both from 1.
std::string step_in_words(std::size_t epoch, std::size_t step);

/// The remedy for a loss that is no number, in training and in a mere evaluation.
inline constexpr const char* kWhereTrained =
    "lower --lr (or use --scale-lr none, --warmup-epochs), or look at the data";
inline constexpr const char* kWhereScored =
    "these weights are not usable: look at the run that wrote them, or at --normalize and "
    "--image-size";

/// Collective: throws RunError on every rank where `finite` is false on any.
/// The message says `what` and names these ranks.
void stop_unless_finite(RankGroup& group, bool finite, const std::string& what,
                        const std::string& remedy = kWhereTrained);

/// One hash per tensor of a replica: every parameter, then all running statistics as one.
using ReplicaHashes = std::vector<std::uint64_t>;

ReplicaHashes hash_replica(Replica& replica);
/// All of them in one, as 16 hex digits: what a run records per epoch.
std::string combined_hash(const ReplicaHashes& hashes);

/// Watches that the replicas of all ranks stay bit-identical, as often as the run wants.
class ReplicaCheck {
 public:
  ReplicaCheck(RankGroup& group, Replica& replica, CheckReplicas often)
      : group_(group), replica_(replica), often_(often) {}

  bool every_step() const { return often_ == CheckReplicas::step; }
  /// Where every step is checked: remembers whether this rank's own copy
  /// changed since the last check, when nothing should have touched it.
  void before_update();
  /// Collective: compares all ranks, unless the run wants no checks; returns
  /// the combined hash. Where they differ, every rank throws the same RunError,
  /// which names tensor, element, values, and the rank: the one whose own copy
  /// changed between two checks, else the one that the majority contradicts,
  /// else both.
  std::string compare(const std::string& when);
  /// Collective, after the last step of `position`: the same, and throws RunError, alike on every
  /// rank, where a parameter is not finite. A step looks at its loss, which does not show what its
  /// own update did.
  std::string check_parameters(const TrainPosition& position, const std::string& when);

 private:
  RankGroup& group_;
  Replica& replica_;
  CheckReplicas often_;
  ReplicaHashes last_;
  bool changed_by_itself_ = false;
};

}  // namespace rueda
