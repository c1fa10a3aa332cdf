#include "rueda/train/config.hpp"

#include <functional>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using namespace rueda;

namespace {

struct Case {
  std::function<void(TrainConfig&)> change;
  const char* message = "";  ///< contained in the refusal; empty: it is accepted
};

void check(const std::initializer_list<Case>& cases, const TrainConfig& defaults = {}) {
  for (const Case& c : cases) {
    TrainConfig config = defaults;
    c.change(config);
    std::string message;
    try {
      validate(config);
    } catch (const InputError& error) {
      message = error.what();
    }
    INFO("case " << &c - cases.begin());
    CHECK_THAT(message, Contains(c.message));
    CHECK(message.empty() == (*c.message == 0));
  }
}

}  // namespace

TEST_CASE("numbers out of range are refused by the name of their option", "[config]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check({
      {[](auto&) {}},
      {[](auto& c) { c.model = "resnet19"; },
       "--model 'resnet19' is not known: give one of resnet20"},
      {[](auto& c) { c.data = ""; }, "--data"},
      {[](auto& c) { c.epochs = 0; }, "--epochs is 0: give a whole number from 1 to 1000000"},
      {[](auto& c) { c.batch_per_rank = 0; }, "--batch-per-rank"},
      {[](auto& c) { c.batch_per_rank = kMostThatFits; }},
      {[](auto& c) { c.global_batch = 1'000'001; }, "--global-batch"},
      {[](auto& c) { c.accumulate = 0; }, "--accumulate"},
      {[](auto& c) { c.base_batch = 0; }, "--base-batch"},
      {[](auto& c) { c.input_workers = 0; }},
      {[](auto& c) { c.input_workers = 1025; }, "--input-workers"},
      {[](auto& c) { c.image_size = 7; }, "--image-size"},
      {[](auto& c) { c.image_size = 8; }},
      {[](auto& c) { c.threads = -1; }, "--threads is -1"},
      {[](auto& c) { c.segment_kb = 4'000'001; }, "--segment-kb"},
      {[](auto& c) { c.bucket_mb = -1; }, "--bucket-mb"},
      {[](auto& c) { c.stall_seconds = 1'000'001; }, "--stall-seconds"},
      {[](auto& c) { c.keep = 0; }, "--keep"},
      {[](auto& c) { c.lr = 0; }, "--lr is 0: give a number above 0 and at most 1000"},
      {[=](auto& c) { c.lr = nan; }, "--lr"},
      {[](auto& c) { c.momentum = 0; }},
      {[](auto& c) { c.momentum = 1; }, "--momentum is 1: give a number at least 0 and below 1"},
      {[=](auto& c) { c.momentum = nan; }, "--momentum"},
      {[](auto& c) { c.weight_decay = -1e-4; }, "--weight-decay"},
      {[](auto& c) { c.warmup_epochs = 3; }},
      {[](auto& c) { c.warmup_epochs = 3.5; }, "--warmup-epochs"},
      {[](auto& c) { c.warmup_epochs = -1; }, "--warmup-epochs"},
      {[](auto& c) { c.target_accuracy = 1; }},
      {[](auto& c) { c.target_accuracy = 80; }, "--target-accuracy"},
  });
}

TEST_CASE("options that contradict each other are refused", "[config]") {
  using Kind = InjectedFault::Kind;
  check({
      {[](auto& c) { c.nesterov = true, c.momentum = 0; }, "--nesterov"},
      {[](auto& c) { c.reduce_order = ReduceOrder::fixed, c.all_reduce = Algorithm::mpi; },
       "--reduce-order fixed"},
      {[](auto& c) { c.reduce_table = "t.json"; }, "--reduce-table"},
      {[](auto& c) { c.backend = BackendChoice::cpu, c.transport = TransportChoice::staged; },
       "--transport staged"},
      {[](auto& c) { c.backend = BackendChoice::cuda, c.transport = TransportChoice::staged; }},
      {[](auto& c) {
        c.fault = {Kind::nan, 0, 1};
      }},
      {[](auto& c) {
         c.fault = {Kind::nan, -1, 1};
       },
       "--inject"},
      {[](auto& c) {
         c.fault = {Kind::nan, 0, 0};
       },
       "--inject"},
      {[](auto& c) { c.resume = "auto"; }, "--run-dir"},
      {[](auto& c) { c.compute_jitter = 5; }, "--backend timed"},
  });
}

TEST_CASE("the timed backend needs a time, and only that backend takes one", "[config]") {
  TrainConfig timed;
  timed.backend = BackendChoice::timed;
  timed.compute_ms = 100;
  check(
      {
          {[](auto&) {}},
          {[](auto& c) { c.compute_jitter = 10; }},
          {[](auto& c) { c.compute_ms.reset(); }, "--compute-ms X or"},
          {[](auto& c) { c.compute_from = "run.json"; }, "either"},
          {[](auto& c) { c.compute_ms = 0; }, "--compute-ms"},
          {[](auto& c) { c.compute_jitter = 100; }, "--compute-jitter"},
          {[](auto& c) { c.input = InputMode::stream; }, "--input"},
          {[](auto& c) { c.batch_per_rank = kMostThatFits; }, "--batch-per-rank"},
          {[](auto& c) { c.target_accuracy = 0.8; }, "--target-accuracy"},
          {[](auto& c) { c.save_weights = "w.safetensors"; }, "--save-weights"},
          {[](auto& c) { c.backend = BackendChoice::cpu; }, "--backend timed"},
      },
      timed);
}
