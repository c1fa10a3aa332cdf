#include "rueda/display/start_block.hpp"

#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/sample_run.hpp"

using namespace rueda;

namespace {

/// The block with runs of blanks and line breaks made one blank, so that wrapping does not matter.
std::string flat(const std::string& text) {
  std::istringstream in(text);
  std::string result;
  for (std::string word; in >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

std::string block(const RunRecord& run) { return flat(start_block(run)); }

void check_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 80);
    CHECK((line.empty() || line.back() != ' '));
  }
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("start block: everything of a run of two ranks", "[start_block]") {
  const std::string text = block(test::sample_run());
  CHECK_THAT(text, Catch::Contains(
                       "model resnet20 for 32x32 images in fp32, 269,722 trainable parameters, "
                       "1,376 non-trainable, 0.2424 GFLOP per training image"));
  CHECK_THAT(text, Catch::Contains("data synthetic: 296 images for training, 100 for testing"));
  CHECK_THAT(text, Catch::Contains("ranks 2 ranks on 1 host: Example Processor E-2000 v3 with a "
                                   "very long name @ 2.70GHz"));
  CHECK_THAT(text, Catch::Contains("0 node1 0 cpu 1 1 1 node1 1 cpu 1 1"));
  CHECK_THAT(text, Catch::Contains("128 global, 64 per rank; 3 steps per epoch, the last of 40 "
                                   "images"));
  CHECK_THAT(text, Catch::Contains("lr 0.1 x 128/128 = 0.1 (linear scaling), constant schedule"));
  CHECK_THAT(text, Catch::Contains("SGD, momentum 0.9, weight decay 0.0001"));
  CHECK_THAT(text, Catch::Contains("all-reduce ring; 1.08 MB per step"));
  CHECK_THAT(text, Catch::EndsWith("run in runs/sample"));
}

TEST_CASE("start block: who makes the batches", "[start_block]") {
  RunRecord run = test::sample_run();
  CHECK_THAT(block(run), Catch::Contains("input resident: the device makes each batch ranks"));
  run.config.input = InputMode::stream;
  CHECK_THAT(block(run), Catch::Contains("input stream: batches prepared by 2 host threads of "
                                         "each rank ranks"));
  run.config.input_workers = 1;
  CHECK_THAT(block(run), Catch::Contains("by 1 host thread of each rank"));
  run.config.input_workers = 0;
  CHECK_THAT(block(run), Catch::Contains("stream: the thread that trains prepares each batch"));
}

TEST_CASE("start block: fits 80 columns", "[start_block]") {
  for (const int ranks : {1, 2, 8, 9, 16, 64})
    check_columns(start_block(test::sample_run(ranks, 4)));
  RunRecord run = test::sample_run();
  run.ranks[1].host = "a-host-name-as-clouds-like-them.internal";
  run.ranks[1].device = "Another Processor that has a very long name as well, as they often do";
  check_columns(start_block(run));
}

TEST_CASE("start block: how the learning rate came about", "[start_block]") {
  RunRecord run = test::sample_run();
  run.global_batch = 256;
  run.learning_rate = 0.2;
  CHECK_THAT(block(run), Catch::Contains("lr 0.1 x 256/128 = 0.2 (linear scaling)"));
  run.config.scale_lr = ScaleLr::none;
  run.config.lr_schedule = LrSchedule::cosine;
  run.config.warmup_epochs = 1.5;
  run.config.nesterov = true;
  run.learning_rate = 0.1;
  CHECK_THAT(block(run), Catch::Contains("lr 0.1 (not scaled), cosine schedule after 1.5 epochs of "
                                         "warm-up"));
  CHECK_THAT(block(run), Catch::Contains("momentum 0.9 (Nesterov)"));
}

TEST_CASE("start block: batches that do not divide", "[start_block]") {
  RunRecord run = test::sample_run();
  run.global_batch = 100;
  run.rank_batches = {34, 33, 33};
  run.config.accumulate = 2;
  run.train_images = 200;
  run.steps_per_epoch = 2;
  CHECK_THAT(block(run), Catch::Contains("100 global, 33 to 34 per rank in 2 micro-batches; "
                                         "2 steps per epoch lr"));
  run.train_images = 201;
  CHECK_THAT(block(run), Catch::Contains("2 steps per epoch, 1 image left out"));
  run.steps_per_epoch = 3;
  CHECK_THAT(block(run), Catch::Contains("3 steps per epoch, the last of 1 image lr"));
}

TEST_CASE("start block: one rank reduces nothing", "[start_block]") {
  CHECK_THAT(block(test::sample_run(1, 1)),
             Catch::Contains("all-reduce none: one rank (1.08 MB of gradients)"));
}

TEST_CASE("start block: more than eight ranks share lines", "[start_block]") {
  const std::size_t around = lines_in(start_block(test::sample_run(1, 1))) - 1;
  CHECK(lines_in(start_block(test::sample_run(8, 4))) == around + 8);
  CHECK(lines_in(start_block(test::sample_run(9, 4))) == around + 3);
  const std::string sixteen = block(test::sample_run(16, 4));
  CHECK_THAT(sixteen, Catch::Contains("16 ranks on 4 hosts"));
  CHECK_THAT(sixteen, Catch::Contains("12-15 node4 0-3 cpu 1 1"));
  CHECK_THAT(block(test::sample_run(64, 4)), Catch::Contains("0-63 16 hosts 0-3 cpu 1 1"));
}

TEST_CASE("start block: GPUs are told apart by their UUIDs", "[start_block]") {
  RunRecord run = test::sample_run();
  run.ranks[0].uuid = "GPU-8f2c0001-a00b-4c0d-9eff-102030405060";
  run.ranks[1].uuid = "GPU-8f2c0002-a00b-4c0d-9eff-102030405060";
  CHECK_THAT(block(run), Catch::Contains("cores device 0 node1 0 cpu 1 1 GPU-8f2c0001 1 node1"));
  CHECK_THAT(block(run), Catch::Contains("1 node1 1 cpu 1 1 GPU-8f2c0002"));
  run.ranks[1].device = "Another GPU";
  CHECK_THAT(block(run), Catch::Contains("cpu 1 1 GPU-8f2c0002 Another GPU"));
  run.ranks[1].device = "Another GPU that has a very long name as well, as they often do";
  check_columns(start_block(run));
}

TEST_CASE("start block: ranks that share a line show no UUID", "[start_block]") {
  RunRecord run = test::sample_run(16, 16);
  for (auto& rank : run.ranks) rank.uuid = "GPU-8f2c0001-a00b-4c0d-9eff-102030405060";
  CHECK_THAT(block(run), !Catch::Contains("GPU-"));
  CHECK_THAT(block(run), Catch::Contains("threads cores 0-15 node1"));
}

TEST_CASE("start block: the all-reduce with transport, chunks and segments", "[start_block]") {
  RunRecord run = test::sample_run();
  run.all_reduce_details = "2 chunks a bucket in segments of 256 KiB";
  for (const auto& [transport, text] : {std::pair{"host", "host memory"},
                                        {"device", "device memory"},
                                        {"staged", "staged through host memory"}}) {
    run.transport = transport;
    CHECK_THAT(block(run), Catch::Contains(std::string("all-reduce ring, ") + text +
                                           ", 2 chunks a bucket in segments of 256 KiB; 1.08 MB "
                                           "per step"));
  }
  run.config.all_reduce = Algorithm::nccl;
  run.all_reduce = "ncclAllReduce";
  run.all_reduce_details.clear();
  CHECK_THAT(block(run), Catch::Contains("all-reduce ncclAllReduce; 1.08 MB per step"));
}

TEST_CASE("start block: ranks that differ are told apart", "[start_block]") {
  RunRecord run = test::sample_run(16, 16);
  run.ranks[5].threads = 3;
  CHECK_THAT(block(run), Catch::Contains("0-4,6-15 node1 0-4,6-15 cpu 1 1"));
  CHECK_THAT(block(run), Catch::Contains("5 node1 5 cpu 3 1"));
  run.ranks[5].device = "Slow One";
  CHECK_THAT(block(run), Catch::Contains("5 node1 5 cpu 3 1 Slow One"));
  CHECK_THAT(block(run), Catch::Contains("16 ranks on 1 host rank host"));
}

TEST_CASE("start block: a run that computes nothing says so first", "[start_block]") {
  RunRecord run = test::sample_run();
  CHECK_THAT(block(run), Catch::StartsWith("model"));
  run.timed = TimedCompute{0.25, 64, 5, "other/run.json"};
  CHECK_THAT(block(run), Catch::StartsWith(
                             "timed NOTHING IS COMPUTED (--backend timed): each rank waits 250 ms "
                             "+- 5 % for forward and backward of 64 images, as recorded in "
                             "other/run.json; communication is real"));
}
