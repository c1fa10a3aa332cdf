#include "rueda/study/keras_log.hpp"

#include <cmath>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "rueda/study/series.hpp"
#include "tests/support/data_files.hpp"

using Catch::Matchers::Contains;
using rueda::KerasLog;
using rueda::LoggedRun;
using rueda::Observation;
using rueda::Processor;

namespace {

rueda::KerasLog log_of(const rueda::test::TempDirectory& directory, const std::string& text) {
  const auto file = directory.path() / "run.out";
  std::ofstream(file, std::ios::binary) << text;
  KerasLog log;
  log.file = file;
  return log;
}

std::vector<LoggedRun> runs_of(const std::string& text) {
  const rueda::test::TempDirectory directory;
  return rueda::read_logged_runs(log_of(directory, text));
}

/// The only run of a text.
LoggedRun run_of(const std::string& text) {
  const auto runs = runs_of(text);
  REQUIRE(runs.size() == 1);
  return runs.front();
}

std::string refusal(const std::string& text) {
  try {
    runs_of(text);
  } catch (const rueda::InputError& error) {
    return error.what();
  }
  return "";
}

void check(const rueda::Estimate& seen, double value, double low, double high) {
  CHECK(seen.value == Approx(value).margin(1e-12));
  CHECK(seen.low == Approx(low).margin(1e-12));
  CHECK(seen.high == Approx(high).margin(1e-12));
}

/// The output of a job as the book prints it, shortened.
const char* const kBookJob =
    "Number of Nodes Allocated: 1 (as01r1b01)\n"
    "| NVIDIA-SMI 530.30.02   Driver Version: 530.30.02   CUDA Version: 12.1 |\n"
    "| N/A   39C    P0   120W / 700W |      2MiB / 65247MiB |      0%      Default |\n"
    " Model ResNet50 1 GPUs \n-----------------------\n"
    "Batch_size: 2048\nNum_replicas: 1 \n\nEpoch 1/2\n"
    "25/25 - 29s - loss: 2.2484 - accuracy: 0.1629 - 29s/epoch - 1s/step\nEpoch 2/2\n"
    "25/25 - 14s - loss: 2.1255 - accuracy: 0.2195 - 14s/epoch - 544ms/step\n"
    " Model ResNet50 4 GPUs \n-----------------------\n"
    "Batch_size: 8192\nNum_replicas: 4 \n\nEpoch 1/2\n"
    "7/7 - 47s - loss: 2.2741 - accuracy: 0.1514 - 47s/epoch - 7s/step\nEpoch 2/2\n"
    "7/7 - 5s - loss: 2.1481 - accuracy: 0.2160 - 5s/epoch - 768ms/step";

}  // namespace

TEST_CASE("several runs in a job's output are told apart", "[keras_log]") {
  const auto runs = runs_of(kBookJob);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].model == "ResNet50");
  CHECK(runs[0].processor == Processor::gpu);
  CHECK(runs[0].global_batch == 2048);
  CHECK(runs[0].ranks == 1);
  CHECK(runs[1].global_batch == 8192);
  CHECK(runs[1].ranks == 4);
  REQUIRE(runs[0].epochs.size() == 2);
  CHECK(runs[0].epochs[1].number == 2);
  CHECK(runs[0].epochs[1].steps == 25);
  CHECK(runs[0].epochs[1].loss == 2.1255);
  CHECK(runs[0].epochs[1].accuracy == 0.2195);
  check(runs[0].epochs[1].printed, 14, 13.5, 14.5);
  check(runs[0].epochs[1].seconds, 13.6, 13.5875, 13.6125);  // 25 x 543.5, 544, 544.5 ms
  check(runs[0].epochs[0].seconds, 29, 28.5, 29.5);          // 25 x 0.5 ... 1.5 s say less
}

TEST_CASE("the book's efficiency, from its steps and from its whole seconds", "[keras_log]") {
  const rueda::test::TempDirectory directory;
  const auto all = rueda::read_keras_log(log_of(directory, kBookJob));
  const auto series = rueda::make_series(all);
  REQUIRE(series.size() == 1);
  CHECK(series[0].scaling == rueda::Scaling::weak);
  CHECK(series[0].batch == 2048);
  const auto& points = series[0].points;
  // 25 x 544 / (7 x 768) / 4 = 63.24 %, at 5.3725 ... 5.3795 s and 13.5875 ... 13.6125 s
  const auto from_steps = rueda::epoch_speedup(series[0], points[1]).efficiency;
  CHECK(from_steps.value == Approx(0.6324).margin(5e-5));
  CHECK(from_steps.low == Approx(13.5875 / 5.3795 / 4));
  CHECK(from_steps.high == Approx(13.6125 / 5.3725 / 4));
  // 14 / 5 / 4 = 70 %, from 13.5 / 5.5 / 4 = 61.4 % to 14.5 / 4.5 / 4 = 80.6 %
  const auto printed = points[0].printed_epoch / points[1].printed_epoch * 0.25;
  check(printed, 0.70, 13.5 / 22, 14.5 / 18);
  check(points[0].first_epoch, 29, 28.5, 29.5);
}

TEST_CASE("a partial last step leaves a full one in bounds", "[keras_log]") {
  const rueda::test::TempDirectory directory;
  const auto seen = rueda::read_keras_log(log_of(directory, kBookJob)).back();
  CHECK(seen.images == 50000);  // 6 x 8192 + 848
  CHECK(seen.steps == 7);
  check(seen.mean_step, 0.768, 0.7675, 0.7685);
  check(seen.full_step, 5.376 * 8192 / 50000, 5.3725 / 7, 5.3795 / 6);  // 0.881 s
}

TEST_CASE("without a partial step a full one is the mean", "[keras_log]") {
  const rueda::test::TempDirectory directory;
  auto log = log_of(directory, "Epoch 1/1\n10/10 - 20s - loss: 1.0 - 20s/epoch - 2s/step\n");
  log.global_batch = 100;
  log.images = 1000;
  const auto seen = rueda::read_keras_log(log).front();
  check(seen.full_step, 2, 1.95, 2.05);
  CHECK(seen.includes_warm_up);
  log.images = 1050;  // the remainder is left out
  CHECK(rueda::read_keras_log(log).front().images == 1000);
  log.images = 1100;
  CHECK_THROWS_WITH(rueda::read_keras_log(log), Contains("10 steps of 100") && Contains("batch="));
}

TEST_CASE("the lines of all versions of Keras", "[keras_log]") {
  const auto epoch = [](const std::string& line) { return run_of(line).epochs.front(); };
  SECTION("no time per step") {
    check(epoch("196/196 - 41s - loss: 2.0176 - accuracy: 0.2584").seconds, 41, 40.5, 41.5);
  }
  SECTION("Keras 3, a line an epoch") {
    const auto e = epoch("25/25 - 14s - 544ms/step - accuracy: 0.21 - loss: 2.12");
    check(e.seconds, 13.6, 13.5875, 13.6125);
    CHECK(e.accuracy == 0.21);
    CHECK(e.loss == 2.12);
  }
  SECTION("a bar: its time per step leaves out the first one") {
    // 24 x 543.5 ms = 13.044 s is less than 13.5 s; 25 x 544 ms is as good a guess as any
    const auto e = epoch("25/25 [====================] - 14s 544ms/step - loss: 2.1 - acc: 0.5   ");
    check(e.seconds, 13.6, 13.5, 14.5);
    CHECK(e.accuracy == 0.5);
    // 24 x 570.5 ms = 13.692 s is more than 13.5 s
    check(epoch("25/25 [====] - 14s 571ms/step - loss: 2").seconds, 14.275, 13.692, 14.5);
  }
  SECTION("microseconds") {
    check(epoch("1000/1000 [==] - 1s 700us/step - loss: 2").seconds, 0.7, 0.6995 * 0.999, 1.5);
  }
  SECTION("samples are counted") {
    const auto run = run_of("Batch_size: 128\n50000/50000 [==] - 14s 280us/sample - loss: 1.5");
    CHECK(run.epochs.front().steps == 391);
    CHECK(run.images == 50000);
    check(run.epochs.front().seconds, 14, 13.975, 14.025);
  }
  SECTION("rueda's own") {
    const auto run = run_of(
        "Epoch 1/2 - 40/40 - 8.715 s - 0.218 s/step - loss: 2.7243 - accuracy: 0.1654 - 574 "
        "images/s (287 per rank) - val_loss: 2.8 - val_accuracy: 0.09\n"
        "Epoch 2/2 - 40/40 - 9.083 s - 0.227 s/step - loss: 1.4231 - accuracy: 0.4346\n");
    REQUIRE(run.epochs.size() == 2);
    check(run.epochs[0].seconds, 8.715, 8.7145, 8.7155);
    CHECK(run.epochs[0].val_accuracy == 0.09);
    CHECK(run.epochs[1].loss == 1.4231);
  }
}

TEST_CASE("a bar that was drawn over and over", "[keras_log]") {
  const auto run = run_of(
      "Epoch 1/2\n 1/25 [>....] - ETA: 5:12 - loss: 2.4\b\b\b\b\r25/25 [====] - ETA: 0s - loss: 2.3"
      "\b\b\b\r25/25 [====] - 29s 1s/step - loss: 2.2\n"
      "Epoch 2/2\n\x1b[1m25/25\x1b[0m \x1b[32m\u2501\u2501\x1b[0m\x1b[37m\u2501\x1b[0m \x1b[1m0s"
      "\x1b[0m 544ms/step - loss: 2.0\n\x1b[1m25/25\x1b[0m \x1b[32m\u2501\u2501\u2501\x1b[0m "
      "\x1b[1m14s\x1b[0m 544ms/step - loss: 1.9 - val_loss: 1.8\n"
      "25/25 [====] - 3s 120ms/step - loss: 9.9\n");
  REQUIRE(run.epochs.size() == 2);
  check(run.epochs[0].printed, 29, 28.5, 29.5);
  CHECK(run.epochs[1].loss == 1.9);  // neither the line before the end nor the evaluation after
  CHECK(run.variant == "times with validation");
}

TEST_CASE("where a run begins and ends", "[keras_log]") {
  SECTION("epochs count from 1 again") {
    const auto runs = runs_of(
        "Batch_size: 512\nEpoch 1/2\n98/98 - 9s - loss: 1\nEpoch 2/2\n98/98 - 8s - loss: 1\n"
        "Epoch 1/2\n98/98 - 7s - loss: 1\n");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].epochs.size() == 2);
    CHECK(runs[1].global_batch == 512);
    CHECK(runs[1].epochs[0].printed.value == 7);
  }
  SECTION("lines without marks, other steps") {
    const auto runs = runs_of("25/25 - 29s - loss: 1\n25/25 - 14s - loss: 1\n13/13 - 8s - loss: 1");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].epochs[1].number == 2);
    CHECK(runs[1].epochs[0].number == 1);
  }
  SECTION("words that begin like a mark are none") {
    CHECK(run_of("Epoch 1/2nd try\n25/25 - 29s - x: 1\n25/25 - 14s - x: 1\n").epochs.size() == 2);
  }
  SECTION("the log begins in the middle") {
    const rueda::test::TempDirectory directory;
    const auto seen = rueda::read_keras_log(
        log_of(directory, "Epoch 3/5\n25/25 - 14s - loss: 1\nEpoch 4/5\n25/25 - 16s - loss: 1\n"));
    CHECK_FALSE(rueda::known(seen[0].first_epoch));
    check(seen[0].epoch, 15, 14.5, 15.5);
  }
  SECTION("what looks like a header") {
    const auto run = run_of(
        "Model: \"resnet50v2\"\nEpoch 1/2\n25/25 - 29s - loss: 1\nModel saved to best.h5\n"
        "Epoch 00001: val_loss improved\nEpoch 2/2\n25/25 - 14s - loss: 1\n");
    CHECK(run.model == "resnet50v2");
    CHECK(run.epochs.size() == 2);
    CHECK(run.processor == Processor::cpu);
  }
}

TEST_CASE("lost line ends, carriage returns, unknown bytes", "[keras_log]") {
  const auto glued = run_of(
      "Epoch 1/2\r\n196/196 - 41s - loss: 2.0176 - accuracy: 0.2584Epoch 2/2\r\n"
      "\xff\xfe\x80 noise \r\n196/196 - 43s - loss: nan - accuracy: 0.3648");
  REQUIRE(glued.epochs.size() == 2);
  CHECK(glued.epochs[0].accuracy == 0.2584);
  CHECK(glued.epochs[1].printed.value == 43);
  CHECK(std::isnan(glued.epochs[1].loss));
  CHECK(run_of(std::string(100'000, 'x') + "\n5/5 - 1s - loss: 1").epochs.size() == 1);
}

TEST_CASE("what tells no finished epoch is refused", "[keras_log]") {
  for (const char* text :
       {"", "hello\n", "12/25 [==>..] - ETA: 7s - loss: 1\n", "25/25 - loss: 2\n",
        "0/0 - 1s - x: 1", "25/25\n", "25/24 - 14s - loss: 1\n", "| 2/2MiB 14s |",
        "25/25 [==#=] - 14s 5ms/step"}) {
    INFO(text);
    CHECK_THAT(refusal(text), Contains("run.out") && Contains("no line") && Contains("verbose=1"));
  }
  const rueda::test::TempDirectory directory;
  KerasLog log;
  log.file = directory.path();
  CHECK_THROWS_WITH(rueda::read_keras_log(log), Contains("is a directory"));
  log.file = directory.path() / "none";
  CHECK_THROWS_WITH(rueda::read_keras_log(log), Contains("not there"));
  log.file = directory.path() / "large";
  std::ofstream(log.file) << "x";
  std::filesystem::resize_file(log.file, 1'000'000'001);  // a hole: takes no room
  CHECK_THROWS_WITH(rueda::read_keras_log(log),
                    Contains("1000000001 bytes, more than the 1000000000"));
}

TEST_CASE("more epochs than memory should hold are refused", "[keras_log]") {
  std::string text;
  for (int i = 0; i < 100'001; ++i) text += "1/1 - 0s\n";
  CHECK_THAT(refusal(text), Contains("more than 100,000 epochs"));
}

TEST_CASE("the words of --keras-log", "[keras_log]") {
  const auto log = rueda::parse_keras_log_option(
      "a,b.out,model=resnet50v2,ranks=4,batch=8192,images=40000,size=128,processor=cpu");
  CHECK(log.file == "a,b.out");
  CHECK(log.model == "resnet50v2");
  CHECK(log.ranks == 4);
  CHECK(log.global_batch == 8192);
  CHECK(log.images == 40000);
  CHECK(log.image_size == 128);
  CHECK(log.processor == Processor::cpu);
  CHECK(rueda::parse_keras_log_option("run.out").file == "run.out");
  for (const char* text : {"", ",model=x", "f,model=", "f,ranks=0", "f,ranks=2x", "f,batch=-1",
                           "f,processor=tpu", "f,model=x,colour=red", "f,model=x,ranks"}) {
    INFO(text);
    CHECK_THROWS_AS(rueda::parse_keras_log_option(text), rueda::InputError);
  }
}

TEST_CASE("what is given wins over the log", "[keras_log]") {
  const rueda::test::TempDirectory directory;
  auto log = log_of(directory, kBookJob);
  log.model = "resnet50v2";
  log.processor = Processor::cpu;
  log.image_size = 128;
  const auto all = rueda::read_keras_log(log);
  CHECK(all[1].model == "resnet50v2");
  CHECK(all[1].processor == Processor::cpu);
  CHECK(all[1].image_size == 128);
  CHECK_THAT(all[1].source, Contains("log ") && Contains("run.out"));
}
