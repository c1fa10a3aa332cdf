#include "pixel_transform.hpp"
#include "rueda/train/train_input.hpp"

namespace rueda {
namespace {

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

std::unique_ptr<TrainInput> make_resident_input(const InputParts& parts) {
  return std::make_unique<ResidentInput>(parts);
}

}  // namespace rueda
