#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/cli.hpp"
#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::TrainConfig;
using Words = std::vector<std::string>;

namespace {

TrainConfig trained_by(const Words& words) {
  return std::get<TrainConfig>(rueda::parse_command_line(words));
}

std::string refusal(const Words& words) {
  try {
    rueda::parse_command_line(words);
    return {};
  } catch (const rueda::InputError& error) {
    return error.what();
  }
}

/// A recipe in a file that lives as long as this object.
class Recipe {
 public:
  explicit Recipe(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("rueda-recipe-" + std::to_string(counter_++) + "-" +
               std::to_string(
                   std::filesystem::file_time_type::clock::now().time_since_epoch().count()))) {
    std::ofstream(path_) << text;
  }
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  ~Recipe() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  Words command(const Words& more = {}) const {
    Words words = {"train", "--config", path_.string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  static inline int counter_ = 0;
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("train alone takes every default", "[command_line]") {
  const TrainConfig config = trained_by({"train"});
  const TrainConfig defaults;
  CHECK(config.model == defaults.model);
  CHECK(config.data == defaults.data);
  CHECK(config.epochs == defaults.epochs);
  CHECK(config.lr == defaults.lr);
  CHECK(config.shuffle == defaults.shuffle);
  CHECK_FALSE(config.target_accuracy.has_value());
}

TEST_CASE("the ring is the default, and a table means auto", "[command_line]") {
  CHECK(trained_by({"train"}).all_reduce == rueda::Algorithm::ring);
  CHECK(trained_by({"train", "--reduce-table", "t.json"}).all_reduce ==
        rueda::Algorithm::automatic);
  CHECK_THAT(refusal({"train", "--reduce-table", "t.json", "--all-reduce", "doubling"}),
             Contains("--reduce-table") && Contains("doubling"));
}

TEST_CASE("options reach the configuration", "[command_line]") {
  const TrainConfig c = trained_by({"train",
                                    "--model",
                                    "resnet18",
                                    "--data",
                                    "d",
                                    "--lr",
                                    "1e-3",
                                    "--nesterov",
                                    "--scale-lr",
                                    "none",
                                    "--lr-schedule",
                                    "cosine",
                                    "--augment",
                                    "standard",
                                    "--normalize",
                                    "scale",
                                    "--shuffle",
                                    "off",
                                    "--shard",
                                    "fixed",
                                    "--last-batch",
                                    "drop",
                                    "--backend",
                                    "cuda",
                                    "--transport",
                                    "staged",
                                    "--allow-shared-gpu",
                                    "--precision",
                                    "bf16",
                                    "--reduce-order",
                                    "fixed",
                                    "--seed",
                                    "18446744073709551615",
                                    "--check-replicas",
                                    "step",
                                    "--target-accuracy",
                                    "0.75",
                                    "--progress",
                                    "lines",
                                    "--global-batch",
                                    "96",
                                    "--warmup-epochs",
                                    "0.5",
                                    "--threads",
                                    "3"});
  CHECK(c.model == "resnet18");
  CHECK(c.data == "d");
  CHECK(c.lr == 1e-3);
  CHECK(c.nesterov);
  CHECK(c.scale_lr == rueda::ScaleLr::none);
  CHECK(c.lr_schedule == rueda::LrSchedule::cosine);
  CHECK(c.augment == rueda::Augment::standard);
  CHECK(c.normalize == rueda::Normalize::scale);
  CHECK_FALSE(c.shuffle);
  CHECK(c.shard == rueda::Shard::fixed);
  CHECK(c.last_batch == rueda::LastBatch::drop);
  CHECK(c.backend == rueda::BackendChoice::cuda);
  CHECK(c.transport == rueda::TransportChoice::staged);
  CHECK(c.allow_shared_gpu);
  CHECK(c.precision == rueda::Precision::bf16);
  CHECK(c.reduce_order == rueda::ReduceOrder::fixed);
  CHECK(c.seed == 18446744073709551615ULL);
  CHECK(c.check_replicas == rueda::CheckReplicas::step);
  CHECK(trained_by({"train", "--verify-messages"}).verify_messages);
  CHECK_FALSE(c.verify_messages);
  CHECK(c.target_accuracy == 0.75);
  CHECK(c.progress == "lines");
  CHECK(c.global_batch == 96);
  CHECK(c.warmup_epochs == 0.5);
  CHECK(c.threads == 3);
}

TEST_CASE("faults to inject", "[command_line]") {
  using Kind = rueda::InjectedFault::Kind;
  const auto flip = trained_by({"train", "--inject", "flip-bit:2:10"}).fault;
  CHECK((flip.kind == Kind::flip_bit && flip.rank == 2 && flip.step == 10));
  const auto nan = trained_by({"train", "--inject", "nan:0:1"}).fault;
  CHECK((nan.kind == Kind::nan && nan.rank == 0 && nan.step == 1));
  const auto corrupt = trained_by({"train", "--inject", "corrupt-message:3:7"}).fault;
  CHECK((corrupt.kind == Kind::corrupt_message && corrupt.rank == 3 && corrupt.step == 7));
  CHECK_THAT(refusal({"train", "--inject", "zero:1:2"}),
             Contains("flip-bit, nan, kill, stop, hang, corrupt-message"));
  CHECK(trained_by({"train", "--inject", "hang:1:2"}).fault.kind == Kind::hang);
  for (const char* text :
       {"nan", "none:0:1", "nan:1", "nan::1", "nan:1:", "nan:1:2:3", "zero:1:2", ":1:2"})
    CHECK_THAT(refusal({"train", "--inject", text}), Contains("--inject"));
}

TEST_CASE("how often checkpoints are written", "[command_line]") {
  using Unit = rueda::CheckpointEvery::Unit;
  const auto every = [](const char* text) {
    return trained_by({"train", "--checkpoint-every", text}).checkpoint_every;
  };
  CHECK((every("1epoch").unit == Unit::epochs && every("1epoch").count == 1));
  CHECK((every("50steps").unit == Unit::steps && every("50steps").count == 50));
  CHECK(every("2epochs").due(Unit::epochs, 4));
  CHECK_FALSE(every("2epochs").due(Unit::epochs, 3));
  CHECK_FALSE(every("2epochs").due(Unit::steps, 4));
  CHECK_FALSE(rueda::CheckpointEvery().due(Unit::epochs, 1));
  for (const char* text : {"", "5", "epoch", "0steps", "5 steps", "-1steps", "1.5epochs", "5step5",
                           "99999999999999999999steps"})
    CHECK_THAT(refusal({"train", "--checkpoint-every", text}), Contains("--checkpoint-every"));
  CHECK_THAT(refusal({"train", "--keep", "0"}), Contains("--keep"));
  CHECK_THAT(refusal({"train", "--resume", "auto"}), Contains("--run-dir"));
  CHECK_THAT(refusal({"train", "--resume", "/none"}), Contains("there is no checkpoint"));
}

TEST_CASE("what is no option or value is refused", "[command_line]") {
  CHECK_THAT(refusal({"train", "--foo"}),
             Contains("unknown option --foo") && Contains("rueda train --help"));
  CHECK_THAT(refusal({"train", "word"}), Contains("unexpected argument word"));
  CHECK_THAT(refusal({"tarin"}), Contains("'tarin'") && Contains("train, summary, synth"));
  CHECK_THAT(refusal({"train", "--epochs"}), Contains("--epochs takes a value"));
  CHECK_THAT(refusal({"train", "--epochs", "2.5"}), Contains("--epochs: '2.5'"));
  CHECK_THAT(refusal({"train", "--seed", "18446744073709551616"}), Contains("--seed"));
  CHECK_THAT(refusal({"train", "--lr", "0.1x"}), Contains("--lr: '0.1x'"));
  CHECK_THAT(refusal({"train", "--shard", "0"}), Contains("--shard: '0'") && Contains("fixed"));
  CHECK_THAT(refusal({"train", "--batch-per-rank", "1", "--global-batch", "2"}),
             Contains("one of the two"));
}

TEST_CASE("an option given twice counts as given last", "[command_line]") {
  CHECK(trained_by({"train", "--epochs", "4", "--epochs", "5"}).epochs == 5);
}

TEST_CASE("help and version are texts to print", "[command_line]") {
  for (const Words& words : {Words{"--help"}, Words{"train", "--help"}, Words{"--version"}}) {
    const auto request = rueda::parse_command_line(words);
    REQUIRE(std::holds_alternative<rueda::PrintText>(request));
    CHECK_THAT(std::get<rueda::PrintText>(request).text, Contains("rueda"));
  }
}

TEST_CASE("a recipe sets options, with or without its section", "[command_line]") {
  for (const char* head : {"", "# a comment\n\n[train]\n"}) {
    const Recipe recipe(std::string(head) +
                        "model = \"resnet18\"  # the network\n"
                        "data = 'with space, # and comma'\n"
                        "  batch-per-rank=12\r\n"
                        "lr = 5e-2\n"
                        "nesterov = true\n");
    const TrainConfig c = trained_by(recipe.command());
    CHECK(c.model == "resnet18");
    CHECK(c.data == "with space, # and comma");
    CHECK(c.batch_per_rank == 12);
    CHECK(c.lr == 5e-2);
    CHECK(c.nesterov);
  }
}

TEST_CASE("the command line wins over the recipe", "[command_line]") {
  const Recipe recipe("epochs = 7\nbatch-per-rank = 12\nnesterov = true\nlr = 0.3\n");
  const TrainConfig c =
      trained_by(recipe.command({"--epochs", "2", "--global-batch", "64", "--nesterov=false"}));
  CHECK(c.epochs == 2);
  CHECK(c.global_batch == 64);
  CHECK(c.batch_per_rank == TrainConfig{}.batch_per_rank);
  CHECK_FALSE(c.nesterov);
  CHECK(c.lr == 0.3);
}

TEST_CASE("a faulty recipe is refused with file and key or line", "[command_line]") {
  const auto refused = [](const char* text) { return refusal(Recipe(text).command()); };
  CHECK_THAT(refused("rate = 1\n"), Contains("'rate' is not an option") && Contains("--config /"));
  CHECK_THAT(refused("\nmodel resnet20\n"), Contains("line 2"));
  CHECK_THAT(refused("model = resnet20\n"), Contains("line 1") && Contains("quotes"));
  CHECK_THAT(refused("model = \"resnet20\n"), Contains("line 1") && Contains("quotes"));
  CHECK_THAT(refused("x\n"), Contains("line 1"));
  CHECK_THAT(refused("lr =\n"), Contains("line 1"));
  CHECK_THAT(refused(";lr = 0.1\n"), Contains("line 1"));
  CHECK_THAT(refused("lr = [0.1]\n"), Contains("line 1"));
  CHECK_THAT(refused("[synth]\nseed = 3\n"), Contains("[train]"));
  CHECK_THAT(refused("lr = 0.1\nepochs = 1\nlr = 0.1\n"), Contains("'lr' is given twice"));
  CHECK_THAT(refused("lr = 0.1\nlr = 0.1\n"), Contains("'lr' is given twice"));
  CHECK_THAT(refused("epochs = 0.5\n"), Contains("--epochs: '0.5'"));
  CHECK_THAT(refused("nesterov = 3\n"), Contains("nesterov"));
  CHECK_THAT(refused("config = \"other\"\n"), Contains("'config'"));
  CHECK_THAT(refused("help = true\n"), Contains("'help'"));
  CHECK_THAT(refused("batch-per-rank = 1\nglobal-batch = 2\n"), Contains("exclude each other"));
  CHECK_THAT(refusal({"train", "--config", "/nonexistent/r.toml"}), Contains("/nonexistent/r"));
  CHECK_THAT(refusal({"train", "--config", "/tmp"}), Contains("/tmp"));
}

TEST_CASE("synth and summary take their options", "[command_line]") {
  const auto synth = std::get<rueda::SynthRequest>(rueda::parse_command_line(
      {"synth", "--out", "d", "--format", "py", "--train", "7", "--test", "3", "--seed", "9"}));
  CHECK(synth.out == "d");
  CHECK(synth.format == rueda::Cifar10Format::python);
  CHECK((synth.drawing.train == 7 && synth.drawing.test == 3 && synth.drawing.seed == 9));
  const auto summary = std::get<rueda::SummaryOptions>(
      rueda::parse_command_line({"summary", "--image-size", "64", "--classes", "100"}));
  CHECK((summary.image_size == 64 && summary.classes == 100));
  CHECK_THAT(refusal({"synth"}), Contains("--out"));
  CHECK_THAT(refusal({"synth", "--out", "d", "--train", "0"}), Contains("--train"));
  CHECK_THAT(refusal({"summary", "--model", "vgg"}), Contains("vgg"));
}
