#include "display/run_text.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/sample_run.hpp"

using namespace rueda;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using Strings = std::vector<std::string>;

namespace {

Strings words(const std::string& line) {
  std::istringstream in(line);
  Strings all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

/// The text with runs of blanks and line breaks made one blank, so that wrapping does not matter.
std::string flat(const std::string& text) {
  std::string result;
  for (const std::string& word : words(text)) result += (result.empty() ? "" : " ") + word;
  return result;
}

Strings lines_of(const std::string& text) {
  std::istringstream in(text);
  Strings lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The words of the line that begins with `name`.
Strings row(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text))
    if (const Strings all = words(line); !all.empty() && all.front() == name) return all;
  return {};
}

/// The whole line that begins with `name`.
std::string row_text(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text))
    if (const Strings all = words(line); !all.empty() && all.front() == name) return line;
  return "";
}

double number(const Strings& row, std::size_t column) { return std::stod(row.at(column)); }

/// Checks what a text contains, and that it keeps to its page.
void check(const std::string& text, const Strings& parts, const Strings& absent = {}) {
  for (const std::string& part : parts) CHECK_THAT(flat(text), Contains(part));
  for (const std::string& part : absent) CHECK_THAT(flat(text), !Contains(part));
  for (const std::string& line : lines_of(text)) {
    INFO(line);
    CHECK(line.size() <= 80);
    CHECK((line.empty() || line.back() != ' '));
  }
}

template <typename Change>
void change_steps(RunRecord& run, Change change) {
  for (EpochRecord& epoch : run.epochs)
    for (auto& rank : epoch.step_records) std::ranges::for_each(rank, change);
}

/// As a user trains: images resident, weights kept, evaluated, with a noise scale, the last step
/// partial.
RunRecord usual_run(int ranks) {
  RunRecord run = test::sample_run(ranks, ranks);
  run.config.output.run_dir = "runs/resnet20-np2-1";
  run.kept_weights = "runs/resnet20-np2-1/weights.safetensors";
  change_steps(run, [](auto& s) { s.phases[std::size_t(Phase::copy)] = 0; });
  for (EpochRecord& epoch : run.epochs) epoch.bookkeeping_seconds = 0.002;
  GradientNoise& noise = run.epochs.back().gradient_noise.emplace();
  noise.batch = 4096;
  noise.scale = 4120;
  noise.low = 3500;
  noise.high = 5000;
  if (ranks == 1) noise.reason = NoNoiseScale::one_part;
  return run;
}

}  // namespace

TEST_CASE("start block: the parts of a run", "[start_block]") {
  RunRecord run = test::sample_run();
  check(start_block(run),
        {"model resnet20 for 32x32 images in fp32, 269,722 trainable parameters, 1,376 "
         "non-trainable, 0.2424 GFLOP per training image",
         "data synthetic, drawn because --data was not given: 296 images of 10 classes for "
         "training, 100 for testing",
         "input resident: the device makes each batch ranks",
         "ranks 2 ranks on 1 host: Example Processor E-2000 v3 with a very long name @ 2.70GHz",
         "0 node1 0 cpu 1 1 1 node1 1 cpu 1 1",
         "128 global, 64 per rank; 3 steps per epoch, the last of 40 images",
         "lr 0.1 x 128/128 = 0.1 (linear scaling), constant schedule",
         "SGD, momentum 0.9, weight decay 0.0001", "all-reduce ring; 1.08 MB per step"});
  CHECK_THAT(flat(start_block(run)), EndsWith("run in runs/sample"));
  check(start_block(test::sample_run(1, 1)), {"all-reduce none: one rank (1.08 MB of gradients)"});
  run.config.given = {"data"};
  check(start_block(run), {"data synthetic: 296 images"});
  run.config.data.input = InputMode::stream;
  check(start_block(run), {"stream: batches prepared by 2 host threads of each rank ranks"});
  run.config.data.input_workers = 1;
  check(start_block(run), {"by 1 host thread of each rank"});
  run.config.data.input_workers = 0;
  check(start_block(run), {"input stream: the thread that trains prepares each batch"});
  run.all_reduce_details = "2 chunks a bucket in segments of 256 KiB";
  for (const auto& [transport, text] : {std::pair{"host", "ring, host memory"},
                                        {"device", "ring, device memory"},
                                        {"staged", "ring, staged through host memory"}}) {
    run.transport = transport;
    check(start_block(run), {text + (", " + run.all_reduce_details) + "; 1.08 MB per step"});
  }
  run.config.sums.algorithm = Algorithm::nccl;
  run.all_reduce = "ncclAllReduce";
  run.all_reduce_details.clear();
  check(start_block(run), {"all-reduce ncclAllReduce; 1.08 MB per step"});
}

TEST_CASE("start block: the learning rate, and batches that do not divide", "[start_block]") {
  RunRecord run = test::sample_run();
  run.global_batch = 256;
  run.learning_rate = 0.2;
  check(start_block(run), {"lr 0.1 x 256/128 = 0.2 (linear scaling)"});
  run.config.optimizer.scale_lr = ScaleLr::none;
  run.config.optimizer.lr_schedule = LrSchedule::cosine;
  run.config.optimizer.warmup_epochs = 1.5;
  run.config.optimizer.nesterov = true;
  check(start_block(run), {"lr 0.2 (not scaled), cosine schedule after 1.5 epochs of warm-up",
                           "momentum 0.9 (Nesterov)"});
  run.config.training.label_smoothing = 0.1;
  check(start_block(run),
        {"SGD, momentum 0.9 (Nesterov), weight decay 0.0001, label smoothing 0.1"});
  run.config.optimizer.optimizer = OptimizerChoice::lars;
  check(start_block(run), {"LARS, trust coefficient 0.001, momentum 0.9 (Nesterov), weight decay"});
  run.config.optimizer.lars_epsilon = 1e-9;
  check(start_block(run), {"LARS, trust coefficient 0.001, epsilon 1e-09, momentum 0.9"});
  run.config.optimizer.warmup_epochs = 1;
  check(start_block(run), {"after 1 epoch of warm-up"});
  run.global_batch = 100;
  run.rank_batches = {34, 33, 33};
  run.config.batch.accumulate = 2;
  run.train_images = 200;
  run.steps_per_epoch = 2;
  check(start_block(run),
        {"100 global, 33 to 34 per rank in 2 micro-batches; 2 steps per epoch lr"});
  run.train_images = 201;
  check(start_block(run), {"2 steps per epoch, 1 image left out"});
  run.steps_per_epoch = 3;
  check(start_block(run), {"3 steps per epoch, the last of 1 image lr"});
}

TEST_CASE("start block: more than eight ranks share lines, unless they differ", "[start_block]") {
  const auto lines = [](int ranks) {
    const std::string text = start_block(test::sample_run(ranks, 4));
    check(text, {});
    return lines_of(text).size();
  };
  const std::size_t around = lines(1) - 1;
  CHECK(lines(2) == around + 2);
  CHECK(lines(8) == around + 8);
  CHECK(lines(9) == around + 3);
  check(start_block(test::sample_run(16, 4)), {"16 ranks on 4 hosts", "12-15 node4 0-3 cpu 1 1"});
  check(start_block(test::sample_run(64, 4)), {"0-63 16 hosts 0-3 cpu 1 1"});
  RunRecord run = test::sample_run(16, 16);
  for (auto& rank : run.ranks) rank.uuid = "GPU-8f2c0001-a00b-4c0d-9eff-102030405060";
  check(start_block(run), {"threads cores 0-15 node1"}, {"GPU-"});
  for (auto& rank : run.ranks) rank.uuid.clear();
  run.ranks[5].threads = 3;
  check(start_block(run), {"0-4,6-15 node1 0-4,6-15 cpu 1 1", "5 node1 5 cpu 3 1"});
  run.ranks[5].device = "Slow One";
  check(start_block(run), {"5 node1 5 cpu 3 1 Slow One", "16 ranks on 1 host rank host"});
}

TEST_CASE("start block: GPUs are distinguished by their UUIDs", "[start_block]") {
  RunRecord run = test::sample_run();
  run.ranks[0].uuid = "GPU-8f2c0001-a00b-4c0d-9eff-102030405060";
  run.ranks[1].uuid = "GPU-8f2c0002-a00b-4c0d-9eff-102030405060";
  check(start_block(run),
        {"cores device 0 node1 0 cpu 1 1 GPU-8f2c0001 1 node1 1 cpu 1 1 GPU-8f2c0002"});
  run.ranks[1].device = "Another GPU that has a very long name as well, as they often do";
  check(start_block(run), {"cpu 1 1 GPU-8f2c0002 Another"});
  run.ranks[1].host = "a-host-name-as-clouds-like-them.internal";
  check(start_block(run), {"1 a-host-name..em.internal 1 cpu 1 1 GPU-"});
}

TEST_CASE("both texts: a run that computes nothing says so first", "[start_block][result_table]") {
  RunRecord run = test::sample_run();
  CHECK_THAT(flat(start_block(run)), StartsWith("model"));
  CHECK_THAT(result_table(run), StartsWith("Time of"));
  run.timed = TimedCompute{0.25, 64, 5, {}, "other/run.json"};
  CHECK_THAT(flat(start_block(run)),
             StartsWith("timed NOTHING IS COMPUTED (--backend timed): each rank waits 250 ms +- 5 "
                        "% for forward and backward of 64 images, as recorded in other/run.json; "
                        "communication is real"));
  run.timed = TimedCompute{0.25, 64, 0, {}, ""};
  CHECK_THAT(flat(result_table(run)),
             StartsWith("NOTHING IS COMPUTED (--backend timed): each rank waits 250 ms for"));
}

TEST_CASE("result table: neither epochs nor the legend, and files in one entry", "[result_table]") {
  RunRecord run = usual_run(2);
  const std::string text = result_table(run);
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 80);
  check(text,
        {"runs/resnet20-np2-1/run.json, runs/resnet20-np2-1/*.csv, "
         "runs/resnet20-np2-1/weights.safetensors",
         "noise scale 4120"},
        {"val_accuracy", "busbw ="});  // epochs had their lines, and the legend is a help
  check(result_terms(), {"busbw = algbw x 2(P-1)/P", "ranks take turns in being late"});
  for (const std::string& line : lines_of(result_terms())) CHECK(line.size() <= 80);
}

TEST_CASE("result table: the end of a usual run fits a screen of 24 lines with the prompt",
          "[result_table]") {
  const int ranks = GENERATE(1, 2, 3, 4);
  RunRecord run = usual_run(ranks);
  const auto fits = [&run](const Strings& parts) {
    CAPTURE(result_table(run));
    check(result_table(run), parts);
    CHECK(lines_of(result_table(run)).size() <= 23);
  };
  fits({"(partial step "});
  for (const auto why : {NoNoiseScale::few_steps, NoNoiseScale::not_above_noise}) {
    run.epochs.back().gradient_noise->reason = why;
    run.epochs.back().gradient_noise->steps = 19;
    fits({"noise scale not determined"});
  }
  run.train_images = 256;  // full steps only
  for (EpochRecord& epoch : run.epochs)
    for (auto& rank : epoch.step_records) rank.pop_back();
  fits({});
  CHECK_THAT(result_table(run), !Contains("partial"));
  run = usual_run(ranks);
  if (ranks == 1) return;
  run.auto_all_reduce = "hierarchical-halving";
  const auto sum_longer = [&run](double more) {
    for (EpochRecord& epoch : run.epochs) epoch.seconds += 3 * more;
    change_steps(run, [more](auto& s) {
      for (double* seconds : {&s.phases[kAllReduce], &s.all_reduce_busy, &s.seconds})
        *seconds += more;
    });
  };
  sum_longer(0.08);
  fits({"advice Exposed transfer and adding take", "(partial step "});
  RunRecord hosts = run;
  run.ranks.back().host = "node9";
  sum_longer(0.8);
  fits({"advice Exposed transfer and adding take", "names a slow one", "(partial step "});
  run = hosts;
  run.auto_all_reduce.clear();
  run.overlaps = true;
  fits({"advice", "is exposed: --bucket-mb auto", "(partial step "});
  for (RankInfo& rank : run.ranks) rank.host = "0a1b2c3d4e5f";  // as containers have them
  for (const bool in_turn : {false, true}) {
    for (EpochRecord& epoch : run.epochs) {
      epoch.seconds = 1.6;
      for (std::size_t rank = 0; rank < epoch.step_records.size(); ++rank)
        for (StepRecord& s : epoch.step_records[rank]) {
          const bool late = rank == (in_turn ? (2 * s.epoch + s.step) % std::size_t(ranks) : 0);
          s.phases = {0.004, 0, 0.1, 0.0005, late ? 0.4 : 0.2, late ? 0.01 : 0.21, 0.006, 0.0015};
          s.all_reduce_busy = s.phases[kAllReduce];
          s.all_reduce_wait = late ? 0 : 0.2;
          s.seconds = 0.522;
        }
    }
    fits({in_turn ? "late in turn: no other" : "0a1b2c3d4e5f, 200 ms late (backward 200): no",
          "(partial step "});
  }
}

TEST_CASE("result table: a partial step is told beside the full ones", "[result_table]") {
  RunRecord run = test::sample_run();
  const std::string line = row_text(result_table(run), "slowest");
  CHECK_THAT(line, EndsWith("rank   median 389 ms (partial step 151), 90 % within 392 ms"));
  run.global_batch = 1000;  // all are partial: the heading has it
  CHECK_THAT(row_text(result_table(run), "slowest"), Contains("median") && !Contains("partial"));
}

TEST_CASE("result table: a phase that took no time has no row", "[result_table]") {
  RunRecord run = test::sample_run();
  CHECK_THAT(result_table(run), Contains("\n  copy "));
  change_steps(run, [](auto& s) { s.phases[std::size_t(Phase::copy)] = 0; });
  CHECK_THAT(result_table(run), !Contains("\n  copy ") && Contains("\n  load "));
}

TEST_CASE("result table: the phases add up to the step", "[result_table]") {
  const std::string text = result_table(test::sample_run());
  CHECK_THAT(text, Contains("Time of a full step of 128 images (epochs 2-3, 4 steps)"));
  double milliseconds = 0;
  double shares = 0;
  for (const std::string_view name : kPhaseNames) {
    const auto phase = row(text, std::string(name));
    REQUIRE(phase.size() == 6);
    milliseconds += number(phase, 1);
    shares += number(phase, 4);
    CHECK(number(phase, 2) <= number(phase, 1));
    CHECK(number(phase, 1) <= number(phase, 3));
  }
  // Eight numbers, each rounded to its last shown digit.
  CHECK(milliseconds == Approx(number(row(text, "step"), 1)).margin(8 * 0.0005));
  CHECK(shares == Approx(100).margin(8 * 0.05));
  CHECK(number(row(text, "forward"), 2) == Approx(104.0));
  CHECK(number(row(text, "forward"), 3) == Approx(114.4));
}

TEST_CASE("result table: the parts of a run", "[result_table]") {
  RunRecord run = test::sample_run();
  run.config.training.target_accuracy = 0.4;
  check(result_table(run), {"val_accuracy 0.4 not reached"});
  run.seconds_to_target = 2.51;
  check(result_table(run),
        {"outcome completed; 4.500 s: start-up 0.887 s, training 2.800 s in 3 epochs, evaluation "
         "0.630 s steady epoch 0.850 s, 348 images/s (174 per rank) efficiency",
         "target val_accuracy 0.4 after 2.510 s all-reduce", "parameter hash 0123456789abcde3",
         "terms: rueda train --help result files runs/sample/run.json, runs/sample/*.csv"});
  for (EpochRecord& epoch : run.epochs) {
    epoch.bookkeeping_seconds = 0.2;
    epoch.clock_seconds = 0.01;
  }
  check(result_table(run), {"evaluation 0.630 s, between steps 0.600 s steady epoch"});
  run.epochs[1].bookkeeping_seconds = NAN;  // of a version that did not note it
  check(result_table(run), {"evaluation 0.630 s steady epoch"});
  run.kept_weights = "runs/sample/weights.safetensors";
  check(result_table(run),
        {"runs/sample/run.json, runs/sample/*.csv, runs/sample/weights.safetensors"});
  run.kept_weights.clear();
  run.checkpoints = {{.path = "a", .pause_seconds = 0.125, .write_seconds = 1},
                     {.path = "b", .pause_seconds = 0.25, .write_seconds = 2}};
  check(result_table(run),
        {"2 written; training paused for 0.375 s, and went on during 3.000 s of writing"});
  run.checkpoints.push_back({.path = "c", .pause_seconds = NAN, .write_seconds = NAN});
  check(result_table(run), {"3 written; training paused for 0.375 s, and went on during 3.000 s of "
                            "writing (1 of them not counted)"});
  run.epochs.back().train.loss = 4.7;
  check(result_table(run), {"outcome completed, but training diverged: lower --lr; 4.500 s:"});
  run.epochs.back().train.loss = 4.5;
  check(result_table(run), {}, {"diverged"});
  run.global_batch = 1000;
  check(result_table(run), {"Time of a partial step (epochs 2-3, 6 steps)"});
  run.global_batch = 128;
  run.epochs.resize(1);
  check(result_table(run),
        {"(epoch 1, includes warm-up, 2 steps)", "(135 per rank), includes warm-up"});
  run.epochs.clear();
  run.outcome = "failed";
  run.failure = "step 7: the loss is nan on rank 1, a message that needs a second line on the page";
  CHECK_THAT(result_table(run), StartsWith("No epoch finished.\n"));
  check(result_table(run), {"failed: step 7: the loss is nan on rank 1, a message"}, {"Time of"});
}

TEST_CASE("result table: the all-reduce, and a faster one where steps wait", "[result_table]") {
  RunRecord run = test::sample_run(4, 4);
  run.gradient_bytes = 45'000'000;
  check(result_table(run), {"45.0 MB per step; busy ", "algbw 1 GB/s, busbw 1.5 GB/s"});
  check(result_table(test::sample_run(1, 1)), {}, {"algbw 0", "load balance"});
  run = test::sample_run();
  // Useful: 790.6 ms of 840, and 797.9 of 860.
  check(result_table(run), {"efficiency, % 93.4 = load balance 95.6 x serialisation"});
  run.auto_all_reduce = "shared";
  // 45 and 45/1.1 ms busy, 0 and 10 waiting, 5 and 5.5 adding, 40 and 40/1.21 exposed.
  check(result_table(run), {"busy 42.955 ms: waiting 5.000, transfer 32.705, adding 5.250; algbw"},
        {"advice"});  // 9.7 % of a step
  change_steps(run, [](auto& s) { s.phases[std::size_t(Phase::all_reduce)] *= 2; });
  // The last rank waits for 2 x 40/1.21 of 377.129 ms.
  check(result_table(run), {"Exposed transfer and adding take 18 % of a step: --all-reduce auto "
                            "(shared) may be faster, with other last bits"});
  run.auto_all_reduce.clear();
  check(result_table(run), {}, {"advice"});
  run.overlaps = true;
  check(result_table(run), {"% of the all-reduce is exposed: --bucket-mb auto"});
  run.config.sums.bucket_mb = kAutoBucketMb;
  check(result_table(run), {}, {"advice"});
  run.config.sums.bucket_mb = 5;
  change_steps(run, [](auto& s) { s.phases[std::size_t(Phase::all_reduce)] *= 0.1; });
  check(result_table(run), {}, {"advice"});
}

TEST_CASE("result table: advice follows from waiting, transfer and adding apart",
          "[result_table]") {
  RunRecord run = test::sample_run(3, 1);
  run.auto_all_reduce = "shared";
  /// 100 ms of work, `late` more on rank 2; the others wait for it, and all sum for `sum`.
  const auto make = [&run](double late, double sum) {
    for (EpochRecord& epoch : run.epochs) {
      for (std::size_t rank = 0; rank < 3; ++rank) {
        for (StepRecord& s : epoch.step_records[rank]) {
          const double own = rank == 2 ? late : 0;
          s.phases = {};
          s.phases[std::size_t(Phase::backward)] = 0.1 + own;
          s.all_reduce_wait = late - own;
          s.all_reduce_busy = s.phases[kAllReduce] = late - own + sum;
          s.all_reduce_add = 0;
          s.seconds = 0.1 + late + sum;
        }
      }
    }
  };
  const Strings shared = {"--all-reduce auto (shared)"};
  make(0.06, 0.003);
  check(result_table(run),
        {"25 % of a step is waiting for rank 2 on node3, 60.0 ms late (backward 60.0): no other "
         "all-reduce or bucket size helps"},
        shared);
  run.rank_batches = {1, 1, 2};
  check(result_table(run), {"rank 2 on node3 (with 2 images, others with 1), 60.0 ms late"},
        shared);
  run.rank_batches = {5, 7, 6};
  check(result_table(run), {"rank 2 on node3 (with 6 images, others with 5 to 7), 60.0 ms late"});
  run.rank_batches = {6, 5, 7};
  check(result_table(run), {"rank 2 on node3 (with 7 images, others with 5 to 6), 60.0 ms late"});
  run.rank_batches = {6, 7, 6};
  check(result_table(run), {"rank 2 on node3, 60.0 ms late"}, {"others with"});
  make(0, 0.02);  // 17 % of a step
  check(result_table(run), shared, {"is waiting"});
  make(0, 0.01);  // 9 %
  check(result_table(run), {}, {"advice"});
  make(0.03, 0.022);  // 48 % waiting, and 14 % of a step in the sum
  check(result_table(run), shared, {"is waiting"});
  make(0.03, 0.018);  // 53 % waiting
  check(result_table(run), {"is waiting for rank 2"}, shared);
  // Where more than half of a step is the sum between hosts, their links are worth a look first.
  const Strings doctor = {"rueda doctor, started as this run"};
  make(0, 0.097);  // 49 %
  check(result_table(run), shared, doctor);
  make(0, 0.103);  // 51 %
  check(result_table(run), {"take 51 % of a step: rueda doctor, started as this run"}, shared);
  const auto ranks = run.ranks;
  for (auto& rank : run.ranks) rank.host = ranks[0].host;
  check(result_table(run), shared, doctor);
  run.ranks = ranks;
  // With overlap most of the sum is hidden, and nearly all of that is transfer: what is exposed is
  // divided by what the last rank waits, not in the proportions of the whole.
  make(0.06, 0.003);
  change_steps(run, [](auto& s) { s.all_reduce_busy += 0.5; });
  check(result_table(run), {"25 % of a step is waiting for rank 2 on node3"}, shared);
  make(0, 0.02);
  change_steps(run, [](auto& s) { s.all_reduce_busy = s.all_reduce_wait = 0.5; });
  check(result_table(run), shared, {"is waiting"});
  // Other buckets are worth a word from 2 % of a step on.
  run.auto_all_reduce.clear();
  run.overlaps = true;
  make(0, 0.0018);  // 1.8 %
  check(result_table(run), {}, {"advice"});
  make(0, 0.0025);  // 2.4 %
  check(result_table(run), {"is exposed: --bucket-mb auto"});
  run.overlaps = false;
  // Late in turn: no rank is longer than the others over all steps.
  make(0.06, 0.003);
  for (EpochRecord& epoch : run.epochs)
    for (auto& rank : epoch.step_records)
      for (StepRecord& s : rank) {
        s.phases[std::size_t(Phase::backward)] = 0.1;
        s.seconds = 0.1 + s.phases[kAllReduce];
      }
  check(result_table(run), {"is waiting for ranks that were late in turn"}, shared);
}

TEST_CASE("result table: factors of efficiency multiply to it, also above 100", "[result_table]") {
  RunRecord run = test::sample_run();
  const auto check_with = [&run](const EfficiencySeconds& seconds, const char* text) {
    for (EpochRecord& epoch : run.epochs) {
      epoch.released = true;
      epoch.sums = sum_up(epoch.step_records, 128);
      epoch.efficiency = seconds;
      epoch.seconds = seconds.seconds;
    }
    CHECK_THAT(row_text(result_table(run), "efficiency,"), EndsWith(text));  // in one line
  };
  check_with({0.9, 0.98, 0.981, 1}, "90 = load balance 91.8 x serialisation 99.9 x transfer 98.1");
  check_with({0.99945, 0.9995, 1.0024, 1},
             "99.9 = load balance 100 x serialisation 99.7 x transfer 100.2");
  // The longest figures stay in one line, too.
  check_with({0.998, 0.999, 1.0024, 1},
             "99.8 = load balance 99.9 x serialisation 99.7 x transfer 100.2");
}

TEST_CASE("result table: the input and its work", "[result_table]") {
  RunRecord run = test::sample_run();
  run.config.data.input = InputMode::stream;
  check(result_table(run),
        {"input per step preparing 8.400 "
         "ms of all workers together, copying 3.20 MB in 2.100 ms (1.52 GB/s) all-reduce"});
  change_steps(run, [](auto& s) { s.copy_bytes = 0; });
  check(result_table(run), {"preparing 8.400 ms of all workers together all-reduce"});
}

TEST_CASE("noise scale in words: what a step teaches, over what a rank's part would",
          "[result_table][noise]") {
  GradientNoise noise;
  noise.batch = 1024;
  noise.scale = 412;
  noise.low = 350;
  noise.high = 500;
  // (1 + 412 / 128) / (1 + 412 / 1024)
  CHECK(noise_text(noise, 8) == "412 (350 to 500): a step of 1,024 is worth 3.01 of 128");
  CHECK_THAT(noise_text(noise, 1), EndsWith("is worth 1.29 of 512"));
  noise.scale = 0;
  CHECK_THAT(noise_text(noise, 8), EndsWith("is worth 1 of 128"));
  noise.reason = NoNoiseScale::one_part;
  CHECK_THAT(noise_text(noise, 1), StartsWith("not determined: a") && Contains("--accumulate 2"));
  noise.reason = NoNoiseScale::few_steps;
  noise.steps = 1;
  CHECK_THAT(noise_text(noise, 1), EndsWith(" by 1 step: lower --global-batch, --noise-scale"));
  noise.reason = NoNoiseScale::not_above_noise;
  CHECK_THAT(noise_text(noise, 1), StartsWith("not determined: the gradient is not above"));
  CHECK(noise_text(std::nullopt, 8).empty());
}

TEST_CASE("result table: a learning rate scaled above the noise scale is named",
          "[result_table][noise]") {
  RunRecord run = test::sample_run();
  CHECK(noise_text(run).empty());
  GradientNoise& noise = run.epochs.back().gradient_noise.emplace();
  noise.batch = run.global_batch;
  noise.scale = 100;
  noise.low = 80;
  noise.high = 127;
  run.config.optimizer.base_batch = 64;
  check(result_table(run), {"noise scale 100 (80.0 to 127): a step of 128 is worth",
                            "of 64; --scale-lr multiplied the learning rate by 2, which"});
  const auto warns = [&run] { return noise_text(run).find("--scale-lr") != std::string::npos; };
  noise.high = 128;
  CHECK_FALSE(warns());
  noise.high = 127;
  run.config.optimizer.base_batch = 128;
  CHECK_FALSE(warns());
  run.config.optimizer.base_batch = 64;
  run.config.optimizer.scale_lr = ScaleLr::none;
  CHECK_FALSE(warns());
}
