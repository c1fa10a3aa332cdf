#include <array>
#include <utility>
#include <vector>

#include "prefetcher.hpp"
#include "train_input.hpp"

namespace rueda {
namespace {

/// One rank's micro-batches of a whole run, in order; those without images are left out. It runs
/// ahead of training, into the next epoch too, so it has a sampler of its own.
class Schedule {
 public:
  Schedule(const RunPlan& plan, std::size_t rank, const TrainPosition& from)
      : plan_(plan), rank_(rank), sampler_(plan.sampler), epoch_(from.epochs), step_(from.steps) {
    if (step_ == sampler_.steps_per_epoch()) {
      step_ = 0;
      ++epoch_;
    }
    sampler_.set_epoch(epoch_);
  }

  struct Entry {
    std::size_t epoch = 0;
    std::vector<std::uint32_t> indices;  ///< none: the run has ended
  };

  Entry next() {
    while (epoch_ < plan_.schedule.epochs) {
      Entry entry{epoch_, sampler_.indices(step_, plan_.virtual_rank(rank_, micro_batch_))};
      advance();
      if (!entry.indices.empty()) return entry;
    }
    return {};
  }

 private:
  void advance() {
    if (++micro_batch_ < plan_.micro_batches) return;
    micro_batch_ = 0;
    if (++step_ < sampler_.steps_per_epoch()) return;
    step_ = 0;
    if (++epoch_ < plan_.schedule.epochs) sampler_.set_epoch(epoch_);
  }

  const RunPlan& plan_;
  std::size_t rank_;
  Sampler sampler_;
  std::size_t epoch_;
  std::size_t step_;
  std::size_t micro_batch_ = 0;
};

/// Fills the slots of a stager.
class SlotFiller final : public PrefetchSource {
 public:
  SlotFiller(const InputParts& parts, BatchStager& stager)
      : images_(parts.images),
        seed_(parts.config.seed),
        transform_(pixel_transform(parts.config)),
        stager_(stager),
        format_(stager.format()),
        schedule_(parts.plan, parts.rank, parts.from) {}

  std::size_t begin(std::size_t slot) override {
    entries_[slot] = schedule_.next();
    return entries_[slot].indices.size();
  }

  void prepare(std::size_t slot, Range images) override {
    const Schedule::Entry& entry = entries_[slot];
    const BatchChoice choice{entry.indices, transform_, seed_, entry.epoch};
    const std::size_t bytes = format_.image_bytes(transform_.image_size);
    for (std::size_t i = images.begin; i < images.end; ++i) {
      stager_.labels(slot)[i] = images_.labels[entry.indices[i]];
      make_host_image(images_, choice, i, format_, stager_.input(slot) + i * bytes);
    }
  }

  void complete(std::size_t slot, std::size_t images) override { stager_.upload(slot, images); }

 private:
  const ImageSet& images_;
  std::uint64_t seed_;
  kernels::PixelTransform transform_;
  BatchStager& stager_;
  InputFormat format_;
  Schedule schedule_;
  std::array<Schedule::Entry, BatchStager::kSlots> entries_;
};

class StreamInput final : public TrainInput {
 public:
  explicit StreamInput(const InputParts& parts)
      : replica_(parts.replica),
        sampler_(parts.sampler),
        stager_(parts.replica.backend().make_stager(parts.config.image_size,
                                                    parts.plan.largest_micro_batch())),
        filler_(parts, *stager_),
        prefetcher_(filler_, BatchStager::kSlots, parts.config.input_workers) {}

  void load(const MicroBatch& which, PhaseTimer& timer) override {
    timer.enter(Phase::load);
    if (sampler_.part_samples(which.step, which.part) == 0) {
      replica_.load({});
      return;
    }
    const Prefetcher::Batch batch = prefetcher_.take();
    if (stager_->copies()) timer.enter(Phase::copy);
    const CopyCost copy = stager_->wait(batch.slot);
    replica_.load(*stager_, batch.slot, batch.images);
    prefetcher_.release();
    busy_.prepare += batch.seconds;
    busy_.copy += copy.seconds;
    busy_.copy_bytes += copy.bytes;
  }

  Phase device_phase() const override { return Phase::copy; }
  InputBusy take_busy() override { return std::exchange(busy_, {}); }
  std::size_t device_bytes() const override { return stager_->device_bytes(); }

 private:
  Replica& replica_;
  const Sampler& sampler_;
  std::unique_ptr<BatchStager> stager_;
  SlotFiller filler_;
  Prefetcher prefetcher_;  // last: its workers end before the memory that they fill
  InputBusy busy_;
};

}  // namespace

std::unique_ptr<TrainInput> make_stream_input(const InputParts& parts) {
  return std::make_unique<StreamInput>(parts);
}

}  // namespace rueda
