// --input stream gives the bits of --input resident, and records the way of the data.
#include <numeric>

#include <catch2/catch.hpp>

#include "tests/support/training_bench.hpp"

namespace rueda::test {
namespace {

using Hashes = std::vector<std::string>;

RunRecord train(TrainConfig config, InputMode input, std::size_t workers) {
  config.input = input;
  config.input_workers = workers;
  return SoloTraining(config).train();
}

Hashes hashes(const RunRecord& run) {
  Hashes all;
  for (const EpochRecord& epoch : run.epochs) all.push_back(epoch.parameter_hash);
  return all;
}

void check_equal_runs(const TrainConfig& config) {
  const Hashes resident = hashes(train(config, InputMode::resident, 2));
  REQUIRE(resident.size() == config.epochs);
  CHECK(resident[0] != resident[1]);
  for (const std::size_t workers : {0, 1, 3}) {
    CAPTURE(workers);
    CHECK(hashes(train(config, InputMode::stream, workers)) == resident);
  }
}

TEST_CASE("stream input: the bits of resident input", "[backend][stream]") {
  TrainConfig config = small_run();
  SECTION("without augmentation, a partial last batch") { config.batch_per_rank = 40; }
  SECTION("with augmentation, in two micro-batches") {
    config.augment = Augment::standard;
    config.accumulate = 2;
    config.batch_per_rank = 13;  // 96 images: steps of 26, the last of 18
  }
  SECTION("with empty micro-batches") {
    config.accumulate = 5;
    config.batch_per_rank = 19;  // steps of 95 and of 1
  }
  check_equal_runs(config);
}

TEST_CASE("stream input: the bits of resident input in bf16", "[backend][stream][bf16]") {
  TrainConfig config = small_run();
  config.precision = Precision::bf16;
  config.augment = Augment::standard;
  CHECK(hashes(train(config, InputMode::stream, 2)) ==
        hashes(train(config, InputMode::resident, 2)));
}

TEST_CASE("stream input: phases and busy times", "[backend][stream]") {
  TrainConfig config = small_run();
  const bool copies =
      open_backend_under_test()->make_stager(config.image_size, config.batch_per_rank)->copies();
  const auto side = static_cast<std::size_t>(config.image_size);
  const std::size_t pixel_bytes = config.batch_per_rank * 3 * side * side * sizeof(float);
  const RunRecord run = train(config, InputMode::stream, 2);
  for (const StepRecord& step : run.epochs[1].step_records[0]) {
    const double sum = std::accumulate(step.phases.begin(), step.phases.end(), 0.0);
    CHECK(sum == Approx(step.seconds).epsilon(1e-9));
    CHECK(step.prepare_busy > 0);
    CHECK((step.phases[static_cast<std::size_t>(Phase::copy)] > 0) == copies);
    CHECK((step.copy_busy > 0) == copies);
    CHECK((step.copy_bytes > pixel_bytes) == copies);
  }
  const RunRecord at_once = train(config, InputMode::resident, 2);
  const StepRecord& resident = at_once.epochs[1].step_records[0].front();
  CHECK(resident.prepare_busy == 0);
  CHECK(resident.copy_busy == 0);
  CHECK(resident.copy_bytes == 0);
  CHECK(resident.phases[static_cast<std::size_t>(Phase::copy)] == 0);
}

TEST_CASE("stream input: a run that ends before its last epoch", "[backend][stream]") {
  TrainConfig config = small_run();
  config.target_accuracy = 0.001;
  CHECK(train(config, InputMode::stream, 2).epochs.size() == 1);
}

}  // namespace
}  // namespace rueda::test
