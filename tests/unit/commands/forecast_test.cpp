#include "commands/forecast/forecast.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "commands/definitions.hpp"
#include "model/flops.hpp"
#include "model/registry.hpp"
#include "rueda/train/timings.hpp"
#include "tests/support/data_files.hpp"
#include "train/forecast/forecast.hpp"
#include "train/options.hpp"

using namespace rueda;
using Catch::Contains;
using Json = nlohmann::ordered_json;
using test::refusal;

namespace {

/// One model in one scenario: what forecast_answers takes.
Json made_questions() {
  return Json::parse(R"({"rueda_forecast": 2,
    "networks": [{"model": "resnet20", "image_size": 32, "classes": 10}],
    "noises": [{"values": [0.9, 1.1]}, {"values": [0.9, 1.1], "spread_by": 0}],
    "machines": [{"inside": {"alpha": 0, "beta": 0}, "between": {"alpha": 1e-3, "beta": 1e-9},
                  "gamma": 1e-9, "ranks_per_node": 1, "links_per_node": 1}],
    "schedules": [{"model": "resnet20", "image_size": 32, "classes": 10, "bucket_mb": 0}],
    "models": [{"compute": {"fixed": 0.01, "per_image": 0.002, "backward_share": 0.5,
                            "input_per_image": 0.001, "update": 0.005},
                "machine": 0, "noise": 0, "message_noise": 0.5}],
    "scenarios": [{"ranks": 4, "global_batch": 80, "images": 200, "overlap": true, "schedule": 0}],
    "epochs": [{"model": 0, "scenario": 0}],
    "sums": [{"machine": 0, "algorithm": "ring", "ranks": 4, "bytes": 40e6}],
    "simulations": [{"model": 0, "schedule": 0, "ranks": 4, "seed": 3}],
    "balances": [{"images": [5, 5],
                  "costs": [{"all": {"fixed": 0, "per_image": 1},
                             "first_half": {"fixed": 0, "per_image": 1},
                             "second_half": {"fixed": 0, "per_image": 1}},
                            {"all": {"fixed": 0, "per_image": 1},
                             "first_half": {"fixed": 0, "per_image": 1},
                             "second_half": {"fixed": 0, "per_image": 1}}]}],
    "grid": {"models": [0, 0], "scenarios": [0]}})");
}

Json answers_to(const Json& questions) { return Json::parse(forecast_answers(questions.dump())); }

cost::CostModel same_model() {
  cost::CostModel model;
  model.compute = {.fixed = 0.010,
                   .per_image = 0.002,
                   .backward_share = 0.5,
                   .input_per_image = 0.001,
                   .update = 0.005};
  model.machine = {{}, {1e-3, 1e-9}, 1e-9, 1, 1};
  model.noise = cost::Distribution::of_sample({0.9, 1.1});
  model.message_noise = 0.5;
  model.buckets = cost::bucket_schedule(build_model("resnet20", 32, 10), 0);
  return model;
}

}  // namespace

TEST_CASE("answers are those of the cost model", "[cost]") {
  const Json answers = answers_to(made_questions());
  const cost::CostModel model = same_model();
  const cost::EpochForecast epoch =
      forecast_epoch(model, {.ranks = 4, .global_batch = 80, .images = 200, .overlap = true});
  const Json& first = answers["epochs"][0];
  CHECK(first["seconds"] == epoch.seconds);
  CHECK(first["full_steps"] == 2);
  CHECK(first["partial_images"] == 40);
  CHECK(first["full"]["compute"] == epoch.full.compute);
  CHECK(first["full"]["rest"] == epoch.full.rest);
  CHECK(first["full"]["straggling"] == epoch.full.straggling);
  CHECK(first["full"]["exposed"] == epoch.full.exposed);
  CHECK(first["full"]["all_reduce"] == epoch.full.all_reduce);
  CHECK(first["full"]["seconds"] == epoch.full.seconds());
  CHECK(first["partial"]["seconds"] == epoch.partial.seconds());
  CHECK(answers["grid"]["seconds"] == Json{{epoch.seconds}, {epoch.seconds}});
  CHECK(answers["grid"]["all_reduce"] == Json{{epoch.full.all_reduce}, {epoch.full.all_reduce}});
  CHECK(answers["sums"] == Json{cost::ring_seconds(model.machine, 4, 40e6)});
  const Graph graph = build_model("resnet20", 32, 10);
  CHECK(answers["networks"][0]["training_flops"] == training_flops(graph));
  CHECK(answers["networks"][0]["parameters"] == graph.parameter_count());
  const cost::SimulatedSum sum = simulate_sum(model, 4, 3);
  CHECK(answers["simulations"][0]["noisy"] == sum.noisy);
  CHECK(answers["simulations"][0]["delay"] == sum.delay(model.machine.gamma));
}

TEST_CASE("ranks that are not equally fast, and parts", "[cost]") {
  Json questions = made_questions();
  questions["models"][0]["noise"] = 1;
  Json& scenario = questions["scenarios"][0];
  scenario["ranks"] = 2;
  const auto straggling = [&] {
    return answers_to(questions)["epochs"][0]["full"]["straggling"].get<double>();
  };
  scenario["parts"] = {60, 20};
  CHECK(straggling() == Approx(20 * 0.003));
  scenario.erase("parts");
  questions["models"][0]["rank_factors"] = {1.5, 0.5};
  CHECK(straggling() == Approx(0.5 * (0.010 + 40 * 0.003)));
  questions["models"][0]["shares_by_speed"] = true;
  CHECK(straggling() < 0.01);
}

TEST_CASE("parts by speed are the trainer's", "[cost]") {
  const Json fast = {{"fixed", 0.1}, {"per_image", 1}}, slow = {{"fixed", 0.1}, {"per_image", 2}};
  const Json steady = {{"all", fast}, {"first_half", fast}, {"second_half", fast}};
  const Json steadily_slow = {{"all", slow}, {"first_half", slow}, {"second_half", slow}};
  const Json slow_at_last = {{"all", slow}, {"first_half", fast}, {"second_half", slow}};
  Json questions = made_questions();
  questions["balances"] = Json::array();
  for (const Json& second : {steadily_slow, slow_at_last})
    questions["balances"].push_back({{"images", {12, 12}}, {"costs", {steady, second}}});
  CHECK(answers_to(questions)["balances"] == Json{{16, 8}, {12, 12}});
}

TEST_CASE("a noise may be narrowed to its mean", "[cost]") {
  Json questions = made_questions();
  CHECK(answers_to(questions)["epochs"][0]["full"]["straggling"] > 0.001);
  questions["models"][0]["noise"] = 1;
  CHECK(answers_to(questions)["epochs"][0]["full"]["straggling"] == Approx(0).margin(1e-12));
}

TEST_CASE("questions that cannot be answered are named", "[cost]") {
  struct Case {
    const char* place;  ///< a JSON pointer
    Json value;
    const char* message;
  };
  for (const auto& [place, value, message] :
       {Case{"/models/0/machine", 1, "models[0].machine"},
        Case{"/models/0/compute/fixed", -1, "models[0].compute.fixed"},
        Case{"/models/0/compute/update", "x", "models[0].compute.update"},
        Case{"/models/0/message_noise", 2, "models[0].message_noise"},
        Case{"/scenarios/0/ranks", 0, "scenarios[0].ranks"},
        Case{"/scenarios/0/ranks", 20'000, "scenarios[0].ranks"},
        Case{"/scenarios/0/images", 1.5, "scenarios[0].images"},
        Case{"/scenarios/0/algorithm", "star", "scenarios[0].algorithm"},
        Case{"/scenarios/0/schedule", 7, "scenarios[0].schedule"},
        Case{"/schedules/0/model", "resnet21", "resnet21"},
        Case{"/schedules/0/bucket_bytes", Json::array(), "schedules[0].bucket_bytes"},
        Case{"/noises/0/values", Json::array(), "noises[0].values"},
        Case{"/noises/0/values", Json::array({-1}), "noises[0]"},
        Case{"/grid/models", Json::array({-1}), "grid.models[0]"},
        Case{"/grid",
             {{"models", std::vector<int>(4000, 0)}, {"scenarios", std::vector<int>(4000, 0)}},
             "more than 10000000 epochs"},
        Case{"/models/0/rank_factors", Json::array({0}), "models[0].rank_factors[0]"},
        Case{"/models/0/rank_factors", std::vector<double>(65, 1.0), "more than 64"},
        Case{"/scenarios/0/parts", Json::array({1, 2}), "scenarios[0].parts"},
        Case{"/balances/0/images", Json::array({5}), "balances[0].images"},
        Case{"/balances/0/images", Json::array({5, 0}), "balances[0].images[1]"},
        Case{"/balances/0/costs", Json::array(), "balances[0].costs"},
        Case{"/balances/0/costs/1/all/per_image", 0, "balances[0].costs[1].all.per_image"},
        Case{"/balances/0/costs/1/first_half/fixed", -1, "balances[0].costs[1].first_half.fixed"},
        Case{"/rueda_forecast", 1, "rueda_forecast is 1"}}) {
    Json questions = made_questions();
    questions[Json::json_pointer(place)] = value;
    const std::string refused = refusal([&] { forecast_answers(questions.dump()); });
    CHECK_THAT(refused, Contains(message));
  }
  CHECK_THAT(refusal([] { forecast_answers("{"); }),
             Contains("standard input") && Contains("no JSON from byte"));
}

TEST_CASE("the definitions are those of the program", "[definitions]") {
  const Json json = Json::parse(definitions_json());
  CHECK(json["phases"].size() == kPhases);
  CHECK(json["phases"][kAllReduce] == Json{{"key", "all_reduce"}, {"words", "exposed all-reduce"}});
  REQUIRE(json["options"].size() == train_options().size());
  for (std::size_t i = 0; i < train_options().size(); ++i) {
    const TrainOption& option = train_options()[i];
    CHECK(json["options"][i]["name"] == option.name);
    CHECK(json["options"][i]["timing"] == to_string(option.timing));
  }
  CHECK(json["thresholds"]["fair_share"] == 0.85);
  CHECK(json["exit_codes"]["stopped"] == 75);
}
