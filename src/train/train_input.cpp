#include "train/train_input.hpp"

#include <array>
#include <utility>
#include <vector>

#include "backend/host_batch.hpp"
#include "backend/replica.hpp"
#include "train/prefetcher.hpp"
#include "train/run_plan.hpp"

namespace rueda {
namespace {

// Mean and standard deviation of the CIFAR-10 training images per channel, for
// pixels in 0 ... 1, in the rounding that kuangliu/pytorch-cifar made
// customary.
constexpr std::array<double, 3> kMean = {0.4914, 0.4822, 0.4465};
constexpr std::array<double, 3> kDeviation = {0.2023, 0.1994, 0.2010};

/// One rank's micro-batches of a whole run, in order; those without images are
/// left out. It runs ahead of training, into the next epoch too, so it has a
/// sampler of its own.
class Schedule {
 public:
  Schedule(const TrainerParts& parts, const TrainPosition& from)
      : plan_(parts.plan),
        rank_(parts.rank()),
        sampler_(plan_.sampler),
        epoch_(from.epochs),
        step_(from.steps) {
    sampler_.set_epoch(epoch_);
  }

  struct Entry {
    std::size_t epoch = 0;
    std::vector<std::uint32_t> indices;  ///< none: the run has ended
  };

  Entry next() {
    while (epoch_ < plan_.schedule.epochs) {
      if (step_ == sampler_.steps_per_epoch()) {
        step_ = 0;
        sampler_.set_epoch(++epoch_);
        continue;
      }
      Entry entry{epoch_, sampler_.indices(step_, plan_.virtual_rank(rank_, micro_batch_))};
      micro_batch_ = (micro_batch_ + 1) % plan_.micro_batches;
      if (micro_batch_ == 0) ++step_;
      if (!entry.indices.empty()) return entry;
    }
    return {};
  }

 private:
  const RunPlan& plan_;
  std::size_t rank_;
  Sampler sampler_;
  std::size_t epoch_;
  std::size_t step_;
  std::size_t micro_batch_ = 0;
};

/// Batches that host threads prepare ahead, and that are copied while the step before computes.
class StreamInput final : public TrainInput, private PrefetchSource {
 public:
  StreamInput(const TrainerParts& parts, const Sampler& sampler, const TrainPosition& from)
      : parts_(parts),
        sampler_(sampler),
        transform_(pixel_transform(parts.config)),
        stager_(parts.replica.backend().make_stager(parts.config.model.image_size,
                                                    parts.plan.largest_micro_batch(parts.rank()))),
        schedule_(parts, from),
        prefetcher_(*this, BatchStager::kSlots, parts.config.data.input_workers) {}

  void load(const MicroBatch& which, PhaseTimer& timer) override {
    timer.enter(Phase::load);
    if (sampler_.part_samples(which.step, which.part) == 0) {
      parts_.replica.load({});
      return;
    }
    const Prefetcher::Batch batch = prefetcher_.take();
    if (stager_->copies()) timer.enter(Phase::copy);
    const CopyCost copy = stager_->wait(batch.slot);
    parts_.replica.load(*stager_, batch.slot, batch.images);
    prefetcher_.release();
    busy_.prepare += batch.seconds;
    busy_.copy += copy.seconds;
    busy_.copy_bytes += copy.bytes;
  }

  Phase device_phase() const override { return Phase::copy; }
  InputBusy take_busy() override { return std::exchange(busy_, {}); }

 private:
  std::size_t begin(std::size_t slot) override {
    entries_[slot] = schedule_.next();
    return entries_[slot].indices.size();
  }

  void prepare(std::size_t slot, Range images) override {
    const Schedule::Entry& entry = entries_[slot];
    const BatchChoice choice{entry.indices, transform_, parts_.config.training.seed, entry.epoch};
    const ImageSet& set = parts_.data.train;
    const InputFormat format = stager_->format();
    const std::size_t bytes = format.image_bytes(transform_.image_size);
    for (std::size_t i = images.begin; i < images.end; ++i) {
      stager_->labels(slot)[i] = set.labels[entry.indices[i]];
      make_host_image(set, choice, i, format, stager_->input(slot) + i * bytes);
    }
  }

  void complete(std::size_t slot, std::size_t images) override { stager_->upload(slot, images); }

  const TrainerParts& parts_;
  const Sampler& sampler_;
  kernels::PixelTransform transform_;
  std::unique_ptr<BatchStager> stager_;
  Schedule schedule_;
  std::array<Schedule::Entry, BatchStager::kSlots> entries_;
  InputBusy busy_;
  Prefetcher prefetcher_;  // last: its workers end before what they use
};

/// Images resident on the device, which makes each batch itself.
class ResidentInput final : public TrainInput {
 public:
  ResidentInput(const TrainerParts& parts, const Sampler& sampler)
      : parts_(parts),
        sampler_(sampler),
        images_(parts.replica.backend().hold(parts.data.train)),
        transform_(pixel_transform(parts.config)) {}

  void load(const MicroBatch& which, PhaseTimer& timer) override {
    timer.enter(Phase::load);
    const auto indices = sampler_.indices(which.step, which.part);
    parts_.replica.load(
        {images_.get(), {indices, transform_, parts_.config.training.seed, which.epoch}});
  }

 private:
  const TrainerParts& parts_;
  const Sampler& sampler_;
  std::unique_ptr<DeviceImages> images_;
  kernels::PixelTransform transform_;
};

}  // namespace

std::unique_ptr<TrainInput> make_train_input(const TrainerParts& parts, const Sampler& sampler,
                                             InputMode mode, const TrainPosition& from) {
  if (mode == InputMode::stream) return std::make_unique<StreamInput>(parts, sampler, from);
  return std::make_unique<ResidentInput>(parts, sampler);
}

kernels::PixelTransform pixel_transform(const TrainConfig& config) {
  kernels::PixelTransform t;
  t.image_size = config.model.image_size;
  t.augment = config.data.augment == Augment::standard;
  for (std::size_t c = 0; c < 3; ++c) {
    t.mean[c] = 0.0F;
    t.scale[c] = float(1.0 / 255.0);
    if (config.data.normalize != Normalize::cifar10) continue;
    t.mean[c] = float(255.0 * kMean[c]);
    t.scale[c] = float(1.0 / (255.0 * kDeviation[c]));
  }
  return t;
}

}  // namespace rueda
