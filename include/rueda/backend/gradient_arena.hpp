#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// What a step sums over all ranks besides gradients; the last floats of the
/// gradient arena. Counts are exact in fp32 below 2^24 samples per step.
struct StepSums {
  float loss = 0;  ///< of all samples, not divided
  float correct = 0;
  float samples = 0;
  float nonfinite = 0;  ///< ranks whose own loss, statistics or squares are NaN or infinite
  float stop = 0;       ///< ranks that ask to stop
  /// Of the parts of the step that were measured, a part being a micro-batch of a rank that has
  /// images: the sum of the squares of its gradients, divided by its images, and how many there
  /// are.
  float part_squares = 0;
  float parts = 0;
};
/// What a rank tells the others through StepSums, kept on its device.
struct RankFlags {
  float nonfinite = 0;  ///< 1 once a loss, a statistic or a part's squares were not finite
  float stop = 0;       ///< 1 once it asks to stop
};
inline constexpr std::size_t kStepSums = sizeof(StepSums) / sizeof(float);

/// Floats at the end of the arena in which one rank alone writes and all others
/// have zeros: their sum is a gather without a message of its own.
inline constexpr std::size_t kSlotFloats = 8;
inline constexpr std::size_t kMostSlots = 1024;

/// Every `stride`-th of many ranks has a slot: all of them up to kMostSlots.
struct RankSlots {
  std::size_t stride = 1;
  std::size_t count = 0;

  explicit RankSlots(std::size_t ranks)
      : stride(std::max<std::size_t>(1, (ranks + kMostSlots - 1) / kMostSlots)),
        count((ranks + stride - 1) / stride) {}
  std::optional<std::size_t> slot_of(std::size_t rank) const {
    return rank % stride == 0 ? std::optional(rank / stride) : std::nullopt;
  }
};

inline constexpr std::size_t kArenaAlignment = 16;  ///< floats

/// The gradient arena: parameter gradients in backward order, then the tail,
/// which carries what else must be summed, so that no step needs another
/// collective: batch-norm statistics weighted by samples, then StepSums, then a
/// slot of each of `ranks`.
struct GradientLayout {
  explicit GradientLayout(const Graph& graph, std::size_t ranks = 0)
      : parameters(graph.parameter_count()),
        statistics(graph.statistics_count()),
        slots(RankSlots(ranks).count),
        last_offset(graph.parameters().empty() ? 0 : graph.parameters().back().offset) {}
  std::size_t parameters;
  std::size_t statistics;
  std::size_t slots;
  std::size_t last_offset;  ///< of the last parameter, the weights of the first layer
  /// Floats by which all arenas of parameters, gradients and velocities begin
  /// later than their memory, so that all tensors between the classifier and the
  /// first layer lie on addresses that GPU kernels like: their lengths are
  /// multiples of kArenaAlignment in all our networks, the classifier's are not.
  std::size_t lead() const noexcept {
    return (kArenaAlignment - last_offset % kArenaAlignment) % kArenaAlignment;
  }
  std::size_t statistics_offset() const noexcept { return parameters; }
  std::size_t sums_offset() const noexcept { return parameters + statistics; }
  /// What a micro-batch computes ends here; what is written once a step follows.
  std::size_t slots_offset() const noexcept { return sums_offset() + kStepSums; }
  std::size_t total() const noexcept { return slots_offset() + slots * kSlotFloats; }
  /// Floats of the memory in which it lies.
  std::size_t memory() const noexcept { return lead() + total(); }
  /// The same of an arena with a number for each parameter.
  std::size_t parameter_memory() const noexcept { return lead() + parameters; }
};

/// Floats by which `arena` begins later than a place of kArenaAlignment.
inline std::size_t lead_of(std::span<const float> arena) {
  return reinterpret_cast<std::uintptr_t>(arena.data()) / sizeof(float) % kArenaAlignment;
}

/// How the gradient arena is cut into buckets.
struct BucketOptions {
  std::size_t most_bytes = 25'000'000;  ///< of one bucket; 0: no limit, one bucket
  bool tail_apart = false;  ///< what is not a gradient (GradientLayout) in a bucket of its own
  std::size_t ranks = 0;    ///< that have slots in the tail
};

/// The longest first and last bucket: short ones, so that communication begins
/// early, and little of it is left when backward ends.
inline constexpr std::size_t kOuterBucketBytes = 1'000'000;

/// Where the buckets end, in floats, in the order in which backward completes
/// them. Tensors are not cut: one that is longer than the limit has a bucket
/// for itself. The tail goes with the last.
std::vector<std::size_t> plan_buckets(const Graph& graph, const BucketOptions& options);

/// Buckets are slices of the gradient arena, one after the other; bucket i ends
/// before float `ends[i]`. By bucket: the node whose backward completes it,
/// backward going from the last node to the first. A bucket without parameters
/// counts as complete when the one before it is, or, as the first, after the
/// last node.
std::vector<NodeId> completing_nodes(const Graph& graph, const std::vector<std::size_t>& ends);

}  // namespace rueda
