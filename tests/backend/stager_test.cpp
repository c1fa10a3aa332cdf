// BatchStager and make_host_image: the values that Backend::make_batch gives, by way of the host.
#include <numeric>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"
#include "tests/support/training_bench.hpp"

namespace rueda::test {
namespace {

constexpr std::size_t kStagedBatch = 6;
constexpr std::size_t kImages = 12;
using Indices = std::vector<std::uint32_t>;
using Bytes = std::vector<std::byte>;

/// A network's input and labels on the device, of no network.
struct Target {
  Target(Backend& backend, std::size_t input_bytes)
      : input(backend.allocate(input_bytes)),
        labels(backend.allocate(kStagedBatch * sizeof(std::int32_t))) {}
  std::int32_t* label_place() { return reinterpret_cast<std::int32_t*>(labels.data()); }
  /// Of a whole batch: what a partial one does not fill is zero.
  Bytes content(Backend& backend) {
    backend.finish();
    Bytes bytes(input.size() + labels.size());
    read_bytes(std::span(bytes).first(input.size()), input.data());
    read_bytes(std::span(bytes).subspan(input.size()), labels.data());
    return bytes;
  }
  Memory input, labels;
};

struct StagerBench {
  StagerBench(int image_side, Precision precision)
      : side(image_side),
        images(random_images(kImages)),
        graph(small_projection(side)),
        replica(graph, images, Vector(graph.parameter_count(), 0.1), {kStagedBatch}, {},
                repeatable_variant(), precision),
        held(backend().hold(images)),
        stager(backend().make_stager(side, kStagedBatch)),
        image_bytes(stager->format().image_bytes(side)) {}

  Backend& backend() { return replica.backend(); }

  BatchChoice choice(const Indices& indices, std::uint64_t epoch) const {
    kernels::PixelTransform t = plain_transform(side);
    t.augment = true;
    return {indices, t, 7, epoch};
  }

  Bytes made_by_device(const Indices& indices, std::uint64_t epoch) {
    Target target(backend(), kStagedBatch * image_bytes);
    backend().make_batch({held.get(), choice(indices, epoch)}, target.input.data(),
                         target.label_place());
    return target.content(backend());
  }

  void fill(std::size_t slot, const Indices& indices, std::uint64_t epoch) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      stager->labels(slot)[i] = images.labels[indices[i]];
      make_host_image(images, choice(indices, epoch), i, stager->format(),
                      stager->input(slot) + i * image_bytes);
    }
  }

  int side;
  ImageSet images;
  Graph graph;
  ReplicaBench replica;
  std::unique_ptr<DeviceImages> held;
  std::unique_ptr<BatchStager> stager;
  std::size_t image_bytes;
};

void check_way_through(Precision precision) {
  for (const int side : {9, 32, 40}) {
    CAPTURE(side);
    StagerBench bench(side, precision);
    CHECK(bench.backend().activation_bytes(bench.graph, bench.graph.input(), kStagedBatch) ==
          kStagedBatch * bench.image_bytes);
    CHECK(bench.backend().stager_bytes(side, kStagedBatch) >=
          BatchStager::kSlots * kStagedBatch * bench.image_bytes);
    for (const Indices& indices : {Indices{0, 1, 2, 3, 4, 5}, Indices{11, 3}, Indices{8}}) {
      Target target(bench.backend(), kStagedBatch * bench.image_bytes);
      bench.fill(1, indices, 4);
      // A worker's thread has no device of its own.
      std::thread([&] { bench.stager->upload(1, indices.size()); }).join();
      const CopyCost cost = bench.stager->wait(1);
      CHECK((cost.bytes >= indices.size() * bench.image_bytes) == bench.stager->copies());
      bench.stager->deliver(1, target.input.data(), target.label_place());
      CHECK(target.content(bench.backend()) == bench.made_by_device(indices, 4));
    }
  }
}

TEST_CASE_OF_PRECISION("stager: what arrives is what the device makes itself", "[backend][stager]",
                       check_way_through)

TEST_CASE("stager: a delivery waits for its copy by itself", "[backend][stager]") {
  StagerBench bench(16, Precision::fp32);
  const Indices indices = {5, 4, 3, 2, 1, 0};
  Target target(bench.backend(), kStagedBatch * bench.image_bytes);
  bench.fill(0, indices, 1);
  bench.stager->upload(0, indices.size());
  bench.stager->deliver(0, target.input.data(), target.label_place());
  CHECK(target.content(bench.backend()) == bench.made_by_device(indices, 1));
}

TEST_CASE("stager: slots used again and again, each ahead of the device", "[backend][stager]") {
  const std::size_t slots = GENERATE(std::size_t{1}, std::size_t{BatchStager::kSlots});
  StagerBench bench(16, Precision::fp32);
  std::vector<Target> targets;  // before all: to allocate waits for the device
  for (int b = 0; b < 8; ++b)
    targets.emplace_back(bench.backend(), kStagedBatch * bench.image_bytes);
  std::vector<Indices> batches;
  for (std::uint32_t b = 0; b < targets.size(); ++b) {
    const std::size_t slot = b % slots;
    batches.push_back({b, b + 1, b + 2, b + 3, b + 4});
    bench.fill(slot, batches.back(), b);
    bench.stager->upload(slot, batches.back().size());
    bench.stager->wait(slot);
    bench.stager->deliver(slot, targets[b].input.data(), targets[b].label_place());
  }
  for (std::size_t b = 0; b < targets.size(); ++b) {
    CAPTURE(b);
    CHECK(targets[b].content(bench.backend()) == bench.made_by_device(batches[b], b));
  }
}

TEST_CASE("stager: batches of resident images, each ahead of the device", "[backend][stager]") {
  StagerBench bench(16, Precision::fp32);
  std::vector<Target> targets;
  std::vector<Indices> batches;
  for (std::uint32_t b = 0; b < 4; ++b) {
    batches.push_back({b, b + 3, b + 1, b + 4, b + 2, b + 5});
    targets.emplace_back(bench.backend(), kStagedBatch * bench.image_bytes);
  }
  for (std::size_t b = 0; b < targets.size(); ++b)
    bench.backend().make_batch({bench.held.get(), bench.choice(batches[b], b)},
                               targets[b].input.data(), targets[b].label_place());
  for (std::size_t b = 0; b < targets.size(); ++b) {
    CAPTURE(b);
    CHECK(targets[b].content(bench.backend()) == bench.made_by_device(batches[b], b));
  }
}

// --input stream gives the bits of --input resident, and records the way of the data.

using Hashes = std::vector<std::string>;

RunRecord train(TrainConfig config, InputMode input, std::size_t workers) {
  config.data.input = input;
  config.data.input_workers = workers;
  return SoloTraining(config).train();
}

Hashes hashes(const RunRecord& run) {
  Hashes all;
  for (const EpochRecord& epoch : run.epochs) all.push_back(epoch.parameter_hash);
  return all;
}

void check_equal_runs(const TrainConfig& config) {
  const Hashes resident = hashes(train(config, InputMode::resident, 2));
  REQUIRE(resident.size() == config.training.epochs);
  CHECK(resident[0] != resident[1]);
  for (const std::size_t workers : {0, 1, 3}) {
    CAPTURE(workers);
    CHECK(hashes(train(config, InputMode::stream, workers)) == resident);
  }
}

TEST_CASE("stream input: the bits of resident input", "[backend][stream]") {
  TrainConfig config = small_run();
  SECTION("without augmentation, a partial last batch") { config.batch.per_rank = 40; }
  SECTION("with augmentation, in two micro-batches") {
    config.data.augment = Augment::standard;
    config.batch.accumulate = 2;
    config.batch.per_rank = 13;  // 96 images: steps of 26, the last of 18
  }
  SECTION("with empty micro-batches") {
    config.batch.accumulate = 5;
    config.batch.per_rank = 19;  // steps of 95 and of 1
  }
  check_equal_runs(config);
}

TEST_CASE("stream input: the bits of resident input in bf16", "[backend][stream][bf16]") {
  TrainConfig config = small_run();
  config.device.precision = Precision::bf16;
  config.data.augment = Augment::standard;
  CHECK(hashes(train(config, InputMode::stream, 2)) ==
        hashes(train(config, InputMode::resident, 2)));
}

TEST_CASE("stream input: phases and busy times", "[backend][stream]") {
  TrainConfig config = small_run();
  const bool copies = open_backend_under_test()
                          ->make_stager(config.model.image_size, config.batch.per_rank)
                          ->copies();
  const auto side = std::size_t(config.model.image_size);
  const std::size_t pixel_bytes = config.batch.per_rank * 3 * side * side * sizeof(float);
  const RunRecord run = train(config, InputMode::stream, 2);
  for (const StepRecord& step : run.epochs[1].step_records[0]) {
    const double sum = std::accumulate(step.phases.begin(), step.phases.end(), 0.0);
    CHECK(sum == Approx(step.seconds).epsilon(1e-9));
    CHECK(step.prepare_busy > 0);
    CHECK((step.phases[std::size_t(Phase::copy)] > 0) == copies);
    CHECK((step.copy_busy > 0) == copies);
    CHECK((step.copy_bytes > pixel_bytes) == copies);
  }
  const RunRecord at_once = train(config, InputMode::resident, 2);
  const StepRecord& resident = at_once.epochs[1].step_records[0].front();
  CHECK(resident.prepare_busy == 0);
  CHECK(resident.copy_busy == 0);
  CHECK(resident.copy_bytes == 0);
  CHECK(resident.phases[std::size_t(Phase::copy)] == 0);
}

TEST_CASE("stream input: a run that ends before its last epoch", "[backend][stream]") {
  TrainConfig config = small_run();
  config.training.target_accuracy = 0.001;
  CHECK(train(config, InputMode::stream, 2).epochs.size() == 1);
}

}  // namespace
}  // namespace rueda::test
