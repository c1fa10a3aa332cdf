#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rueda {

/// The phases on a step's critical path. They are contiguous, so they add up to the step.
enum class Phase : int {
  load,  ///< making the batch, or what the step waited for the host to prepare it
  copy,  ///< what the step waited for it to be copied to the device
  forward,
  loss,  ///< softmax, cross entropy and its gradient
  backward,
  all_reduce,  ///< what the step waited for it: the *exposed* part
  optimizer,   ///< update of parameters and running statistics, packing of weights
  other,       ///< whatever is left: bookkeeping, replica checks
};
inline constexpr std::size_t kPhases = 8;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "load", "copy", "forward", "loss", "backward", "all_reduce", "optimizer", "other"};

using PhaseSeconds = std::array<double, kPhases>;

/// One bucket of one step on one rank. Moments are seconds on the rank's steady clock. Plain bytes:
/// it is gathered over ranks as it is.
struct BucketRecord {
  std::uint32_t epoch = 0;   ///< from 1
  std::uint32_t step = 0;    ///< from 1
  std::uint32_t bucket = 0;  ///< from 0
  std::uint32_t unused = 0;  ///< so that no byte is left open
  double ready = 0;          ///< its gradients were complete on this rank
  double begin = 0;          ///< its all-reduce began
  double end = 0;            ///< and ended
  double transfer = 0;       ///< seconds of these inside MPI calls
  double add = 0;            ///< seconds of these adding
  double wait = 0;           ///< of `transfer`, waiting for ranks that began later; known on rank 0
};

/// One step of one rank. Plain bytes: it is gathered over ranks as it is.
struct StepRecord {
  std::uint32_t epoch = 0;    ///< from 1
  std::uint32_t step = 0;     ///< from 1
  std::uint32_t samples = 0;  ///< of this rank, all micro-batches
  std::uint32_t global_samples = 0;
  double seconds = 0;  ///< of this rank; the sum of `phases`
  PhaseSeconds phases{};
  double all_reduce_busy = 0;  ///< seconds inside the all-reduce, hidden or not
  double all_reduce_add = 0;   ///< of these, adding
  double all_reduce_wait = 0;  ///< of these, waiting for ranks whose gradients came later
  double prepare_busy = 0;     ///< seconds of host threads preparing its batches, hidden or not
  double copy_busy = 0;        ///< seconds of copying them to the device, hidden or not
  std::uint64_t copy_bytes = 0;
  double train_loss = 0;      ///< mean over the step's samples, all ranks
  double train_accuracy = 0;  ///< over the same
  double learning_rate = 0;   ///< of this step's update
};

}  // namespace rueda
