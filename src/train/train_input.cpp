#include "train_input.hpp"

#include <array>

namespace rueda {
namespace {

// Mean and standard deviation of the CIFAR-10 training images per channel, for pixels in 0 ... 1,
// in the rounding that kuangliu/pytorch-cifar made customary.
constexpr std::array<double, 3> kMean = {0.4914, 0.4822, 0.4465};
constexpr std::array<double, 3> kDeviation = {0.2023, 0.1994, 0.2010};

class ResidentInput final : public TrainInput {
 public:
  explicit ResidentInput(const InputParts& parts)
      : parts_(parts),
        images_(parts.replica.backend().hold(parts.images)),
        transform_(pixel_transform(parts.config)) {}

  void load(const MicroBatch& which, PhaseTimer& timer) override {
    timer.enter(Phase::load);
    const auto indices = parts_.sampler.indices(which.step, which.part);
    parts_.replica.load({images_.get(), {indices, transform_, parts_.config.seed, which.epoch}});
  }

 private:
  InputParts parts_;
  std::unique_ptr<DeviceImages> images_;
  kernels::PixelTransform transform_;
};

}  // namespace

std::unique_ptr<TrainInput> make_train_input(const InputParts& parts) {
  if (parts.config.input == InputMode::stream) return make_stream_input(parts);
  return std::make_unique<ResidentInput>(parts);
}

kernels::PixelTransform pixel_transform(const TrainConfig& config) {
  kernels::PixelTransform t;
  t.image_size = config.image_size;
  t.augment = config.augment == Augment::standard;
  for (std::size_t c = 0; c < 3; ++c) {
    const bool cifar10 = config.normalize == Normalize::cifar10;
    t.mean[c] = static_cast<float>(cifar10 ? 255.0 * kMean[c] : 0.0);
    t.scale[c] = static_cast<float>(cifar10 ? 1.0 / (255.0 * kDeviation[c]) : 1.0 / 255.0);
  }
  return t;
}

}  // namespace rueda
