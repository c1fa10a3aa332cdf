#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "data/sampler.hpp"
#include "kernels/pixel.hpp"
#include "rueda/train/timings.hpp"
#include "rueda/train/trainer.hpp"
#include "train/phase_timer.hpp"

namespace rueda {

/// Work on batches while a step computes, where there is any. Computation hides
/// its seconds as long as they stay below those of a step.
struct InputBusy {
  double prepare = 0;  ///< seconds of all workers together
  double copy = 0;     ///< seconds of copying to the device
  std::uint64_t copy_bytes = 0;
};

/// A micro-batch of a run.
struct MicroBatch {
  std::size_t epoch = 0;  ///< from 0
  std::size_t step = 0;   ///< within the epoch, from 0
  std::size_t part = 0;   ///< virtual rank
};

/// How training images get into the replica's input.
class TrainInput {
 public:
  virtual ~TrainInput() = default;
  /// Gets the micro-batch there, or on its way; books on `timer` what the step waits for.
  virtual void load(const MicroBatch& which, PhaseTimer& timer) = 0;
  /// The device's own work for it, before its forward pass, counts for this phase.
  virtual Phase device_phase() const { return Phase::load; }
  /// For the micro-batches loaded since the last call.
  virtual InputBusy take_busy() { return {}; }
};

/// Streamed, or resident on the device. Only resident input loads any micro-batch
/// at any time; streamed ones come in the order of training, `from` a position on.
/// `sampler` is the trainer's, set to the epoch in hand; it and `parts` outlive the input.
std::unique_ptr<TrainInput> make_train_input(const TrainerParts& parts, const Sampler& sampler,
                                             InputMode mode, const TrainPosition& from);

/// The transform for training images, as the options say.
kernels::PixelTransform pixel_transform(const TrainConfig& config);

}  // namespace rueda
