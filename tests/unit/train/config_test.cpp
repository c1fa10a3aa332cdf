#include "rueda/train/config.hpp"

#include <functional>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::TrainConfig;

namespace {

/// The message with which the defaults, changed by `change`, are refused; empty if they are not.
std::string refusal(const std::function<void(TrainConfig&)>& change) {
  TrainConfig config;
  change(config);
  try {
    validate(config);
    return {};
  } catch (const rueda::InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the defaults are a valid configuration", "[config]") {
  CHECK_NOTHROW(validate(TrainConfig{}));
}

TEST_CASE("an unknown model is refused with the known ones", "[config]") {
  const std::string message = refusal([](auto& c) { c.model = "resnet19"; });
  CHECK_THAT(message, Contains("--model 'resnet19'") && Contains("resnet20"));
}

TEST_CASE("numbers out of range are refused by the name of their option", "[config]") {
  CHECK_THAT(refusal([](auto& c) { c.epochs = 0; }), Contains("--epochs is 0"));
  CHECK_THAT(refusal([](auto& c) { c.batch_per_rank = 0; }), Contains("--batch-per-rank"));
  CHECK_THAT(refusal([](auto& c) { c.global_batch = 1'000'001; }), Contains("--global-batch"));
  CHECK_THAT(refusal([](auto& c) { c.accumulate = 0; }), Contains("--accumulate"));
  CHECK_THAT(refusal([](auto& c) { c.base_batch = 0; }), Contains("--base-batch"));
  CHECK_THAT(refusal([](auto& c) { c.input_workers = 1025; }), Contains("--input-workers"));
  CHECK_THAT(refusal([](auto& c) { c.image_size = 7; }), Contains("--image-size"));
  CHECK_THAT(refusal([](auto& c) { c.threads = -1; }), Contains("--threads"));
  CHECK_THAT(refusal([](auto& c) { c.data = ""; }), Contains("--data"));
  CHECK_THAT(refusal([](auto& c) { c.progress = "dots"; }), Contains("--progress"));
}

TEST_CASE("limits themselves are allowed", "[config]") {
  CHECK(refusal([](auto& c) { c.epochs = 1; }).empty());
  CHECK(refusal([](auto& c) { c.image_size = 8; }).empty());
  CHECK(refusal([](auto& c) { c.input_workers = 0; }).empty());
  CHECK(refusal([](auto& c) { c.momentum = 0; }).empty());
  CHECK(refusal([](auto& c) { c.target_accuracy = 1; }).empty());
  CHECK(refusal([](auto& c) { c.warmup_epochs = 3; }).empty());
}

TEST_CASE("hyperparameters that can not train are refused", "[config]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(refusal([](auto& c) { c.lr = 0; }), Contains("--lr"));
  CHECK_THAT(refusal([=](auto& c) { c.lr = nan; }), Contains("--lr"));
  CHECK_THAT(refusal([](auto& c) { c.momentum = 1; }), Contains("--momentum"));
  CHECK_THAT(refusal([=](auto& c) { c.momentum = nan; }), Contains("--momentum"));
  CHECK_THAT(refusal([](auto& c) { c.weight_decay = -1e-4; }), Contains("--weight-decay"));
  CHECK_THAT(refusal([](auto& c) { c.warmup_epochs = 3.5; }), Contains("--warmup-epochs"));
}

TEST_CASE("options that contradict each other are refused", "[config]") {
  CHECK_THAT(refusal([](auto& c) {
               c.nesterov = true;
               c.momentum = 0;
             }),
             Contains("--nesterov"));
  CHECK_THAT(refusal([](auto& c) {
               c.reduce_order = rueda::ReduceOrder::fixed;
               c.all_reduce = rueda::Algorithm::mpi;
             }),
             Contains("--reduce-order fixed"));
  CHECK_THAT(refusal([](auto& c) { c.reduce_table = "t.json"; }),
             Contains("--reduce-table") && Contains("--all-reduce auto") && Contains("ring"));
  CHECK_THAT(refusal([](auto& c) {
               c.backend = rueda::BackendChoice::cpu;
               c.transport = rueda::TransportChoice::staged;
             }),
             Contains("--transport staged"));
  CHECK(refusal([](auto& c) {
          c.backend = rueda::BackendChoice::cuda;
          c.transport = rueda::TransportChoice::staged;
        }).empty());
  CHECK_THAT(refusal([](auto& c) { c.target_accuracy = 80; }), Contains("--target-accuracy"));
}

TEST_CASE("a fault needs a rank from 0 and a step from 1", "[config]") {
  const auto with_fault = [](int rank, std::size_t step) {
    return refusal([=](TrainConfig& c) {
      c.fault = {rueda::InjectedFault::Kind::nan, rank, step};
    });
  };
  CHECK(with_fault(0, 1).empty());
  CHECK_THAT(with_fault(-1, 1), Contains("--inject"));
  CHECK_THAT(with_fault(0, 0), Contains("--inject"));
}

TEST_CASE("the timed backend is told how long it waits, and only that one", "[config]") {
  const auto timed = [](const auto& change) {
    return refusal([&](TrainConfig& c) {
      c.backend = rueda::BackendChoice::timed;
      c.compute_ms = 100;
      change(c);
    });
  };
  CHECK(timed([](auto&) {}).empty());
  CHECK(timed([](auto& c) { c.compute_jitter = 10; }).empty());
  CHECK_THAT(timed([](auto& c) { c.compute_ms = 0; }), Contains("--compute-ms X or"));
  CHECK_THAT(timed([](auto& c) { c.compute_from = "run.json"; }), Contains("either"));
  CHECK_THAT(timed([](auto& c) { c.compute_ms = -1; }), Contains("--compute-ms"));
  CHECK_THAT(timed([](auto& c) { c.compute_jitter = 100; }), Contains("--compute-jitter"));
  CHECK_THAT(timed([](auto& c) { c.input = rueda::InputMode::stream; }), Contains("--input"));
  CHECK_THAT(timed([](auto& c) { c.batch_per_rank = rueda::kMostThatFits; }),
             Contains("--batch-per-rank"));
  CHECK_THAT(timed([](auto& c) { c.target_accuracy = 0.8; }), Contains("--target-accuracy"));
  CHECK_THAT(timed([](auto& c) { c.save_weights = "w.safetensors"; }), Contains("--save-weights"));
  CHECK_THAT(timed([](auto& c) { c.backend = rueda::BackendChoice::cpu; }),
             Contains("--backend timed"));
  CHECK_THAT(refusal([](auto& c) { c.compute_jitter = 5; }), Contains("--backend timed"));
}
