#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "study/figures.hpp"
#include "study/observation.hpp"
#include "tests/support/data_files.hpp"

using namespace rueda;
using Catch::Contains;

namespace {

KerasLog log_of(const test::ScratchDirectory& directory, const std::string& text) {
  KerasLog log;
  log.file = directory.write("run.out", text);
  return log;
}

std::vector<LoggedRun> runs_of(const std::string& text) {
  const test::ScratchDirectory directory;
  return read_logged_runs(log_of(directory, text));
}

/// The only run of a text.
LoggedRun run_of(const std::string& text) {
  const auto runs = runs_of(text);
  REQUIRE(runs.size() == 1);
  return runs.front();
}

std::string log_refusal(const std::string& text) {
  return test::refusal([&] { runs_of(text); });
}

void check(const Estimate& seen, double value, double low, double high) {
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

TEST_CASE("the runs in the output of a job are separated", "[keras_log]") {
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
  check(runs[0].epochs[1].printed, 14, 13.5, 14.5);
  check(runs[0].epochs[1].seconds, 13.6, 13.5875, 13.6125);  // 25 x 543.5, 544, 544.5 ms
  check(runs[0].epochs[0].seconds, 29, 28.5, 29.5);          // 25 x 0.5 ... 1.5 s say less
}

TEST_CASE("the book's efficiency, from its steps and from its whole seconds", "[keras_log]") {
  const test::ScratchDirectory directory;
  const auto all = read_keras_log(log_of(directory, kBookJob));
  const auto series = make_series(all);
  REQUIRE(series.size() == 1);
  CHECK(series[0].scaling == Scaling::weak);
  CHECK(series[0].batch == 2048);
  const auto& points = series[0].points;
  // 25 x 544 / (7 x 768) / 4 = 63.24 %, at 5.3725 ... 5.3795 s and 13.5875 ... 13.6125 s
  const auto from_steps = epoch_speedup(series[0], points[1]).efficiency;
  check(from_steps, 13.6 / 5.376 / 4, 13.5875 / 5.3795 / 4, 13.6125 / 5.3725 / 4);
  // 14 / 5 / 4 = 70 %, from 13.5 / 5.5 / 4 = 61.4 % to 14.5 / 4.5 / 4 = 80.6 %
  const auto printed = points[0].printed_epoch / points[1].printed_epoch * 0.25;
  check(printed, 0.70, 13.5 / 22, 14.5 / 18);
  check(points[0].first_epoch, 29, 28.5, 29.5);
  // A partial last step leaves a full one in bounds.
  CHECK(all.back().images == 50000);  // 6 x 8192 + 848
  CHECK(all.back().steps == 7);
  check(all.back().mean_step, 0.768, 0.7675, 0.7685);
  check(all.back().full_step, 5.376 * 8192 / 50000, 5.3725 / 7, 5.3795 / 6);  // 0.881 s
}

TEST_CASE("without a partial step a full one is the mean", "[keras_log]") {
  const test::ScratchDirectory directory;
  auto log = log_of(directory, "Epoch 1/1\n10/10 - 20s - loss: 1.0 - 20s/epoch - 2s/step\n");
  log.global_batch = 100;
  log.images = 1000;
  const auto seen = read_keras_log(log).front();
  check(seen.full_step, 2, 1.95, 2.05);
  CHECK(seen.includes_warm_up);
  log.images = 1050;  // the remainder is left out
  CHECK(read_keras_log(log).front().images == 1000);
  log.images = 1100;
  CHECK_THROWS_WITH(read_keras_log(log), Contains("10 steps of 100") && Contains("batch="));
}

TEST_CASE("the lines of all versions of Keras", "[keras_log]") {
  const std::vector<std::pair<const char*, Estimate>> lines = {
      {"196/196 - 41s - loss: 2.01 - accuracy: 0.25", {41, 40.5, 41.5}},
      {"25/25 - 14s - 544ms/step - accuracy: 0.21 - loss: 2.12", {13.6, 13.5875, 13.6125}},
      // The time per step of a bar leaves out the first one: 24 x 543.5 ms = 13.044 s is less than
      // 13.5 s; 25 x 544 ms is as good a guess as any.
      {"25/25 [==========] - 14s 544ms/step - loss: 2.1 - acc: 0.5   ", {13.6, 13.5, 14.5}},
      // 24 x 570.5 ms = 13.692 s is more than 13.5 s.
      {"25/25 [====] - 14s 571ms/step - loss: 2", {14.275, 13.692, 14.5}},
      {"1000/1000 [==] - 1s 700us/step - loss: 2", {0.7, 0.6995 * 0.999, 1.5}},
      {"Epoch 1/2 - 40/40 - 8.715 s - 0.218 s/step - loss: 2.7243 - accuracy: 0.1654 - 574 "
       "images/s (287 per rank) - val_loss: 2.8 - val_accuracy: 0.09\n",  // rueda's own
       {8.715, 8.7145, 8.7155}}};
  for (const auto& [line, seconds] : lines) {
    INFO(line);
    const LoggedEpoch epoch = run_of(line).epochs.front();
    check(epoch.seconds, seconds.value, seconds.low, seconds.high);
    CHECK(epoch.validates == (std::string(line).find("val_") != std::string::npos));
  }
  // Samples are counted.
  const auto run = run_of("Batch_size: 128\n50000/50000 [==] - 14s 280us/sample - loss: 1.5");
  CHECK(run.epochs.front().steps == 391);
  CHECK(run.images == 50000);
  check(run.epochs.front().seconds, 14, 13.975, 14.025);
}

TEST_CASE("a bar that was drawn over and over", "[keras_log]") {
  const auto run = run_of(
      "Epoch 1/2\n 1/25 [>....] - ETA: 5:12 - loss: 2.4\b\b\b\b\r25/25 [====] - ETA: 0s - loss: "
      "2.3\b\b\b\r25/25 [====] - 29s 1s/step - loss: 2.2\n"
      "Epoch 2/2\n\x1b[1m25/25\x1b[0m \x1b[32m\u2501\u2501\x1b[0m\x1b[37m\u2501\x1b[0m "
      "\x1b[1m0s\x1b[0m 544ms/step - loss: 2.0\n\x1b[1m25/25\x1b[0m "
      "\x1b[32m\u2501\u2501\u2501\x1b[0m \x1b[1m14s\x1b[0m 544ms/step - loss: 1.9 - val_loss: 1.8 "
      "- val_accuracy: 0.4\n"
      "25/25 [====] - 3s 120ms/step - loss: 9.9\n");
  REQUIRE(run.epochs.size() == 2);
  check(run.epochs[0].printed, 29, 28.5, 29.5);
  // Neither the line before the end nor the evaluation after.
  check(run.epochs[1].printed, 14, 13.5, 14.5);
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
    const test::ScratchDirectory directory;
    const auto seen = read_keras_log(
        log_of(directory, "Epoch 3/5\n25/25 - 14s - loss: 1\nEpoch 4/5\n25/25 - 16s - loss: 1\n"));
    CHECK_FALSE(known(seen[0].first_epoch));
    check(seen[0].epoch, 15, 14.5, 15.5);
  }
  SECTION("lines that look like a header") {
    const auto run = run_of(
        "Model: \"resnet50v2\"\nEpoch 1/2\n25/25 - 29s - loss: 1\nModel saved to best.h5\n"
        "Epoch 00001: val_loss improved\nEpoch 2/2\n25/25 - 14s - loss: 1\n");
    CHECK(run.model == "resnet50v2");
    CHECK(run.epochs.size() == 2);
    CHECK(run.processor == Processor::cpu);
  }
  SECTION("lost line ends, carriage returns, unknown bytes") {
    const auto run = run_of(
        "Epoch 1/2\r\n196/196 - 41s - loss: 2.0176 - accuracy: 0.2584Epoch 2/2\r\n"
        "\xff\xfe\x80 noise \r\n196/196 - 43s - loss: nan - accuracy: 0.3648");
    REQUIRE(run.epochs.size() == 2);
    CHECK(run.epochs[0].printed.value == 41);
    CHECK(run.epochs[1].printed.value == 43);
    CHECK(run_of(std::string(100'000, 'x') + "\n5/5 - 1s - loss: 1").epochs.size() == 1);
  }
}

TEST_CASE("the log of rank 0 is read out of what all ranks printed", "[keras_log]") {
  const std::vector<std::string> lines = {"Epoch 1/2",
                                          "5/5 - 60s - loss: 2.9 - 60s/epoch - 12s/step",
                                          "Epoch 2/2", "5/5 - 6s - loss: 2.1 - 6s/epoch - 1s/step"};
  const std::vector<std::vector<std::string>> launchers = {
      {"[1,0]<stdout>:", "[1,1]<stdout>:"},
      {"0: ", "1: "},
      {"[default0]:", "[default1]:"},
      {"2026-11-26 02:39:28,1 "},
      {"\x1b[36m(TrainWorker pid=1234)\x1b[0m ", "\x1b[36m(TrainWorker pid=1235)\x1b[0m "}};
  for (const auto& prefixes : launchers) {
    CAPTURE(prefixes.front());
    std::string text;
    for (const std::string& line : lines)
      for (const std::string& prefix : prefixes) text += prefix + line + "\r\n";
    const LoggedRun run = run_of(text);
    REQUIRE(run.epochs.size() == 2);
    CHECK(run.epochs[1].printed.value == 6);
  }
  std::string wide = "\xFF\xFE";  // as PowerShell redirects it
  for (const std::string& line : lines)
    for (const char c : line + "\n") wide += {c, '\0'};
  CHECK(run_of(wide).epochs.size() == 2);
}

TEST_CASE("the refusal of a log quotes the line that came nearest", "[keras_log]") {
  CHECK_THAT(log_refusal("start\nEpoch 1/3\n\x1b[0m25/25 - loss: 2.1\x07 - accuracy: 0.1\nend\n"),
             Contains("the nearest is \"25/25 - loss: 2.1\\x07 - accuracy: 0.1\""));
  CHECK_THAT(log_refusal("1: 5/5 - 6s - loss: 2.1 - 1s/step\n"),
             Contains("of rank 0; the nearest is \"1: 5/5 - 6s"));
  CHECK_THAT(log_refusal("loss " + std::string(1'000, 'x')),
             Contains("\"loss xxx") && Contains("xxx...\"") && !Contains(std::string(61, 'x')));
}

TEST_CASE("a log without a finished epoch is refused", "[keras_log]") {
  for (const char* text :
       {"", "hello\n", "12/25 [==>..] - ETA: 7s - loss: 1\n", "25/25 - loss: 2\n",
        "0/0 - 1s - x: 1", "25/25\n", "25/24 - 14s - loss: 1\n", "| 2/2MiB 14s |",
        "25/25 [==#=] - 14s 5ms/step"}) {
    INFO(text);
    CHECK_THAT(log_refusal(text),
               Contains("run.out") && Contains("no line") && Contains("verbose=1"));
  }
  std::string text;
  for (int i = 0; i < 100'001; ++i) text += "1/1 - 0s\n";
  CHECK_THAT(log_refusal(text), Contains("more than 100,000 epochs"));
  const test::ScratchDirectory directory;
  KerasLog log;
  log.file = directory.path();
  CHECK_THROWS_WITH(read_keras_log(log), Contains("is a directory"));
  log.file = directory.path() / "none";
  CHECK_THROWS_WITH(read_keras_log(log), Contains("not there"));
  log.file = directory.path() / "large";
  std::ofstream(log.file) << "x";
  std::filesystem::resize_file(log.file, 1'000'000'001);  // a hole: takes no room
  CHECK_THROWS_WITH(read_keras_log(log), Contains("1000000001 bytes, more than the 1000000000"));
}

TEST_CASE("the words of --keras-log", "[keras_log]") {
  CHECK(parse_keras_log_option(
            "a,b.out,model=resnet50v2,ranks=4,batch=8192,images=40000,size=128,processor=cpu") ==
        KerasLog{"a,b.out", "resnet50v2", 4, 8192, 128, 40000, Processor::cpu});
  CHECK(parse_keras_log_option("run.out").file == "run.out");
  for (const char* text : {"", ",model=x", "f,model=", "f,ranks=0", "f,ranks=2x", "f,batch=-1",
                           "f,processor=tpu", "f,model=x,colour=red", "f,model=x,ranks"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_keras_log_option(text), InputError);
  }
}

TEST_CASE("given values win over the log", "[keras_log]") {
  const test::ScratchDirectory directory;
  auto log = log_of(directory, kBookJob);
  log.model = "resnet50v2";
  log.processor = Processor::cpu;
  log.image_size = 128;
  const auto all = read_keras_log(log);
  CHECK(all[1].model == "resnet50v2");
  CHECK(all[1].processor == Processor::cpu);
  CHECK(all[1].image_size == 128);
  CHECK_THAT(all[1].source, Contains("log ") && Contains("run.out"));
}

TEST_CASE("printed durations have the range of their rounding; images of an epoch by its steps",
          "[keras_log]") {
  check(printed_duration("14s").value(), 14, 13.5, 14.5);
  check(printed_duration("544ms").value(), 0.544, 0.5435, 0.5445);
  check(printed_duration("73us").value(), 73e-6, 72.5e-6, 73.5e-6);
  check(printed_duration("8.715 s").value(), 8.715, 8.7145, 8.7155);
  check(printed_duration("0s").value(), 0, 0, 0.5);
  for (const char* text : {"", "s", "14", "14m", "1.2.3s", "-3s", "14s ", "1e3s", "99999999999s"}) {
    INFO(text);
    CHECK_FALSE(printed_duration(text));
  }
  check(narrowed({14, 13.5, 14.5}, {13.6, 13.5875, 13.6125}), 13.6, 13.5875, 13.6125);
  check(narrowed({5, 4.5, 5.5}, {5.6, 5.3, 5.9}), 5.5, 5.3, 5.5);
  check(narrowed({5, 4.5, 5.5}, {4.45, 4.4, 4.51}), 4.5, 4.5, 4.51);
  check(narrowed({5, 4.5, 5.5}, {7, 6, 8}), 5, 4.5, 5.5);
  CHECK(images_of_epoch(50000, 6, 8192) == 6 * 8192);  // the remainder left out
  CHECK(images_of_epoch(40960, 5, 8192) == 40960);
  for (const std::size_t steps : {5, 8}) CHECK(std::isnan(images_of_epoch(50000, steps, 8192)));
  // 6 x 8192 + 848, and what is unknown
  for (const auto& [steps, batch] : {std::pair{7, 8192}, {0, 8192}, {7, 0}})
    CHECK(images_of_epoch(50000, steps, batch) == 50000);
}

// Their figures: layouts_test.cpp.
TEST_CASE("one published run, and the homework's", "[published]") {
  const auto book = published("book");
  const auto older = std::ranges::find_if(book, [](const Observation& o) {
    return o.source == "Torres 2021, CTE-POWER" && o.variant == "sequential" &&
           o.global_batch == 256 && o.ranks == 1;
  });
  REQUIRE(older != book.end());
  CHECK(older->epoch.value == 41);
  CHECK(older->epoch.low == 40.5);
  CHECK(older->first_epoch.value == 41);
  CHECK_FALSE(older->includes_warm_up);

  CHECK_THROWS_WITH(published("books"), Contains("\"books\"") && Contains("book, nyu"));
  CHECK(published("all").size() == book.size() + published("nyu").size());

  const auto all = published("nyu");
  CHECK(all.size() == 15);
  const auto series = make_series(all);
  CHECK(std::ranges::count(series, Scaling::strong, &Series::scaling) == 5);
  for (const Observation& seen : all) {
    CHECK(seen.image_size == 32);
    CHECK(seen.model == "resnet18");
    CHECK_FALSE(known(seen.first_epoch));
    CHECK(seen.epoch.high - seen.epoch.low == Approx(0.01));
    CHECK(double(seen.steps) == std::ceil(50000.0 / double(seen.global_batch)));
  }
}
