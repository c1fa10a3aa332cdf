#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/cli.hpp"
#include "record/run_json.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "run/resume/evaluated_weights.hpp"
#include "run/resume/taken_options.hpp"
#include "tests/support/common.hpp"
#include "train/options.hpp"

using Catch::Contains;
using namespace rueda;
using Line = std::vector<std::string>;

namespace {

TrainConfig trained_by(const Line& words) {
  return std::get<TrainConfig>(parse_command_line(words));
}

std::string help_of(const Line& words) {
  return std::get<PrintText>(parse_command_line(words)).text;
}

std::string refusal(const Line& words) {
  return test::refusal([&] { parse_command_line(words); });
}

/// What rank 0 makes of it.
TrainConfig resumed_by(const Line& words) {
  TrainConfig config = trained_by(words);
  const std::string& checkpoint = config.checkpoints.resume;
  take_options(config, {checkpoint, read_manifest(checkpoint)}, resumed_place(config),
               TakenBy::training);
  validate(config);
  return config;
}

TrainConfig evaluated_by(const Line& words) {
  TrainConfig config = std::get<EvaluateOptions>(parse_command_line(words)).train;
  find_weights(config);
  return config;
}

/// A recipe in a file that lives as long as this object.
class Recipe {
 public:
  explicit Recipe(const std::string& text) : path_(directory_.write("recipe.toml", text)) {}
  Line command(const Line& more = {}) const {
    Line words = {"train", "--config", path_.string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  test::ScratchDirectory directory_;
  std::filesystem::path path_;
};

/// The variable of a test's fault, while it lives.
struct FaultVariable {
  explicit FaultVariable(const std::string& text) { ::setenv(kFaultVariable, text.c_str(), 1); }
  FaultVariable(const FaultVariable&) = delete;
  ~FaultVariable() { ::unsetenv(kFaultVariable); }
};

/// A value that is not the default.
std::string other_value(const TrainOption& option) {
  if (std::holds_alternative<Text>(option.kind)) return "some text";
  if (std::holds_alternative<Flag>(option.kind)) return "true";
  if (const auto* words = std::get_if<Words>(&option.kind))
    return words->words.at(words->get(TrainConfig()) == 0 ? 1 : 0);
  if (std::string(option.name) == "compute") return "ms=11";
  if (std::string(option.name) == "checkpoint-every") return "50steps";
  return option.name == std::string("target-accuracy") ? "0.75" : "11";
}

std::string text_of(const TrainOption& option, const TrainConfig& config) {
  return to_string(value_of(option, config));
}

}  // namespace

TEST_CASE("every option is in the help, the record and the configuration", "[command_line]") {
  const auto help = std::get<PrintText>(parse_command_line({"train", "--help-all"})).text;
  const std::string record = options_json(TrainConfig());
  std::set<std::string> names;
  for (const TrainOption& option : train_options()) {
    INFO(option.name);
    CHECK(names.insert(option.name).second);
    CHECK_THAT(help, Contains("  --" + std::string(option.name)) && Contains(option.group));
    CHECK_THAT(record, Contains("\"" + std::string(option.name) + "\""));
    TrainConfig config;
    const std::string value = other_value(option);
    CHECK(text_of(option, config) != value);
    set_option(option, config, value);
    CHECK(text_of(option, config) == value);
    for (const TrainOption& other : train_options())
      if (&other != &option) CHECK(text_of(other, config) == text_of(other, TrainConfig()));
  }
}

TEST_CASE("what was removed is refused with what to use", "[command_line]") {
  CHECK_THAT(refusal({"train", "--wire-error-feedback"}),
             Contains("--wire-error-feedback was removed: ") && Contains("--wire bf16"));
  CHECK_THAT(refusal({"train", "--reduce-table", "t.json"}),
             Contains("--reduce-table was removed: ") && Contains("--all-reduce auto"));
  CHECK_THAT(refusal({"train", "--Reduce_Table", "t.json"}),
             Contains("--Reduce_Table was removed: ") && Contains("--all-reduce auto"));
  CHECK_THAT(refusal({"bench", "all-reduce", "--reduce-table=t.json"}), Contains("was removed: "));
  CHECK_THAT(refusal({"bench", "tune", "--out", "t.json"}),
             Contains("tune was removed: ") && Contains("rueda bench all-reduce"));
  CHECK_THAT(refusal({"summary", "--reduce-table", "t"}), !Contains("removed"));
  CHECK_THAT(refusal({"train", "--all-reduce", "central"}),
             Contains("--all-reduce central was removed: ") && Contains("give --all-reduce ring"));
  CHECK_THAT(refusal({"train", "--on-audit", "recompute"}),
             Contains("--on-audit was removed: ") && Contains("jobs/run-again.sh"));
  CHECK_THAT(refusal({"train", "--inject=nan:0:1"}),
             Contains("--inject was removed: ") && Contains("RUEDA_INJECT"));
  for (const char* option :
       {"--compute-ms", "--compute-from", "--compute-factors", "--compute-jitter"})
    CHECK_THAT(refusal({"train", option, "1"}),
               Contains(option + std::string(" was removed: give --compute")));
  const Recipe recipe("reduce-table = \"t.json\"\n");
  CHECK_THAT(refusal(recipe.command()), Contains("reduce-table was removed: "));
}

TEST_CASE("train alone takes every default, the ring among them", "[command_line]") {
  const TrainConfig config = trained_by({"train"});
  CHECK(options_json(config) == options_json(TrainConfig()));
  CHECK(config.given.empty());
  CHECK(trained_by({"train"}).sums.algorithm == Algorithm::ring);
}

TEST_CASE("options reach the configuration", "[command_line]") {
  const Recipe recipe("seed = 5\n");
  const TrainConfig c =
      trained_by(recipe.command({"--lr", "1e-3", "--nesterov", "--shuffle", "off", "--last-batch",
                                 "drop", "--batch-per-rank", "max", "--precision", "bf16"}));
  CHECK(c.optimizer.lr == 1e-3);
  CHECK(c.optimizer.nesterov);
  CHECK_FALSE(c.data.shuffle);
  CHECK(c.data.last_batch == LastBatch::drop);
  CHECK(c.batch.per_rank == kMostThatFits);
  CHECK(c.device.precision == Precision::bf16);
  CHECK(c.given == std::set<std::string, std::less<>>{"batch-per-rank", "last-batch", "lr",
                                                      "nesterov", "precision", "seed", "shuffle"});
  CHECK(trained_by({"train", "--seed", "18446744073709551615"}).training.seed ==
        18446744073709551615ULL);
  CHECK(trained_by({"train", "--epochs", "4", "--epochs", "5"}).training.epochs == 5);
  CHECK(trained_by({"train", "--model", "ResNet50V2"}).model.name == "resnet50v2");
  CHECK(trained_by({"train", "--bucket-mb", "auto"}).sums.bucket_mb == kAutoBucketMb);
}

TEST_CASE("a resumed run writes no file that only its checkpoint names", "[command_line]") {
  const test::ScratchDirectory folder;
  TrainConfig hostile;
  for (const TrainOption& option : train_options())
    if (std::holds_alternative<Text>(option.kind)) set_option(option, hostile, "some text");
  hostile.device.tune_engines = hostile.output.overwrite = true;
  const auto checkpoint = folder.path() / "checkpoints" / "epoch-0001-step-00000";
  std::filesystem::create_directories(checkpoint);
  Manifest manifest;
  manifest.position.epochs = manifest.steps_per_epoch = 1;
  manifest.world = manifest.micro_batches = 1;
  manifest.global_batch = 8;
  manifest.machines = {"cpu"};
  manifest.config = options_json(hostile);
  write_output(checkpoint / kManifestName, to_json(manifest));
  const Line resume = {"train", "--resume", checkpoint.string()};
  // Each path is of a file that is read, or not taken over.
  const std::set<std::string> read = {"data", "tuning-file"};
  const TrainConfig taken = resumed_by(resume);
  for (const TrainOption& option : train_options()) {
    CAPTURE(option.name);
    if (!std::holds_alternative<Text>(option.kind) || read.contains(option.name)) continue;
    CHECK(option.resume == Resume::own);
    if (option.name != std::string("resume"))
      CHECK(text_of(option, taken) == text_of(option, TrainConfig()));
  }
  CHECK(taken.device.tuning_file == "some text");
  // What the run before set is not given here, so that no note says that it has no effect.
  CHECK(taken.given == std::set<std::string, std::less<>>{"resume"});
  CHECK_FALSE(taken.device.tune_engines);
  CHECK_FALSE(taken.output.overwrite);
  // The switch makes an output of a file that is read otherwise: both have to be named.
  Line tuned = resume;
  tuned.emplace_back("--tune-engines");
  CHECK_THAT(test::refusal([&] { resumed_by(tuned); }),
             Contains("name it with --tuning-file FILE"));
  tuned.insert(tuned.end(), {"--tuning-file", "mine"});
  CHECK(resumed_by(tuned).device.tuning_file == "mine");
}

TEST_CASE("relative paths that a run recorded lead from its own folder", "[command_line]") {
  const test::ScratchDirectory folder;
  const auto run = folder.write("old/run/weights.safetensors", "").parent_path();
  const std::string began = (folder.path() / "old").string();
  folder.write("old/run/run.json", R"({"working_directory": ")" + began +
                                       R"(", "config": {"model": "resnet20", "data": "set"}})");
  const auto data_of = [&](const Line& more) {
    Line words = {"evaluate", "--init-weights", run.string()};
    words.insert(words.end(), more.begin(), more.end());
    return evaluated_by(words).data.path;
  };
  const Line evaluate = {"evaluate", "--init-weights", run.string()};
  const auto refused = [&] { return test::refusal([&] { evaluated_by(evaluate); }); };
  CHECK_THAT(refused(), Contains("--init-weights " + run.string() +
                                 ": that run recorded "
                                 "--data set, below " +
                                 began) &&
                            Contains("give --data"));
  CHECK(data_of({"--data", "mine"}) == "mine");
  folder.write("old/set/data_batch_1.bin", "");
  CHECK(data_of({}) == began + "/set");
  CHECK(data_of({"--data", "set"}) == "set");
  folder.write("old/run/run.json", R"({"config": {"model": "resnet20", "data": "set"}})");
  CHECK(data_of({}) == "set");  // of an older version
  folder.write("old/run/run.json", R"({"config": {"model": "resnet20", "data": "/none/set"}})");
  CHECK_THAT(refused(), Contains("that run recorded --data /none/set, and nothing is"));
  CHECK(data_of({"--data", "set"}) == "set");
}

TEST_CASE("a printed recipe sets what its command line set", "[command_line]") {
  for (const Line& more :
       {Line{}, Line{"--global-batch", "96", "--seed", "18446744073709551615", "--lr", "0.1"},
        Line{"--batch-per-rank", "max", "--nesterov", "--data", "a \"b\"\\c", "--checkpoint-every",
             "50steps", "--momentum", "0.3333333333333333"}}) {
    Line words = {"train", "--print-config", "--run-dir", "somewhere"};
    words.insert(words.end(), more.begin(), more.end());
    const auto printed = std::get<PrintText>(parse_command_line(words)).text;
    const Recipe recipe(printed);
    words.erase(words.begin() + 1, words.begin() + 4);
    const TrainConfig wanted = trained_by(words);
    const TrainConfig found = trained_by(recipe.command());
    for (const TrainOption& option : train_options())
      CHECK(text_of(option, found) == text_of(option, wanted));
    CHECK(std::get<PrintText>(parse_command_line(recipe.command({"--print-config"}))).text ==
          printed);
  }
}

TEST_CASE("faults to inject", "[command_line]") {
  const auto words = words_of(InjectedFault::Kind::none);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const FaultVariable fault_here(words[i] + std::string(":2:10"));
    const auto fault = trained_by({"train"}).checks.fault;
    CHECK((to_string(fault.kind) == words[i] && fault.rank == 2 && fault.step == 10));
  }
  CHECK(trained_by({"train"}).checks.fault.kind == InjectedFault::Kind::none);
  for (const char* text :
       {"nan", "none:0:1", "nan:1", "nan::1", "nan:1:", "nan:1:2:3", "zero:1:2", ":1:2"}) {
    const FaultVariable fault_here(text);
    CHECK_THAT(
        refusal({"train"}),
        Contains(kFaultVariable) && Contains("flip-bit, nan, kill, stop, hang, corrupt-message"));
  }
}

TEST_CASE("how long the timed backend computes is one option", "[command_line]") {
  const auto compute = [](const std::string& text) {
    return trained_by({"train", "--backend", "timed", "--compute", text}).compute;
  };
  CHECK(compute("40") == ComputeConfig{.ms = 40});
  CHECK(compute("ms=0.5,jitter=50,factors=1:2.5") ==
        ComputeConfig{.ms = 0.5, .factors = {1, 2.5}, .jitter = 50});
  CHECK(compute("factors=1:2,from=a,b:c=d") == ComputeConfig{.from = "a,b:c=d", .factors = {1, 2}});
  for (const char* text : {"ms=40", "ms=40,jitter=50,factors=1:2", "jitter=1,from=a,b"})
    CHECK(to_string(compute(text)) == text);
  for (const auto& [text, shown] : std::vector<std::pair<const char*, const char*>>{
           {"", "NAME=VALUE"},
           {"fast", "NAME=VALUE"},
           {"ms=40,", "NAME=VALUE"},
           {"ms=", "is no number"},
           {"ms=nan", "is no number"},
           {"ms=0", "above 0 and at most 1000000"},
           {"ms=1000001", "above 0 and at most 1000000"},
           {"ms=1,jitter=100", "at least 0 and below 100"},
           {"ms=1,jitter=-1", "at least 0 and below 100"},
           {"ms=1,factors=1:0", "one for each rank, for example 3:1"},
           {"ms=1,factors=1,2", "NAME=VALUE"},
           {"from=", "name the run.json"},
           {"ms=1,speed=2", "give ms, jitter, factors or from"},
           {"jitter=10", "--compute MILLISECONDS or --compute from=RUN.json"},
           {"ms=1,from=run.json", "--compute MILLISECONDS or --compute from=RUN.json"}})
    CHECK_THAT(refusal({"train", "--backend", "timed", "--compute", text}),
               Contains("--compute") && Contains(shown));
}

TEST_CASE("how often checkpoints are written", "[command_line]") {
  using Unit = CheckpointEvery::Unit;
  const auto every = [](const char* text) {
    return trained_by({"train", "--checkpoint-every", text}).checkpoints.every;
  };
  CHECK((every("1epoch").unit == Unit::epochs && every("1epoch").count == 1));
  CHECK((every("50steps").unit == Unit::steps && every("50steps").count == 50));
  CHECK(every("2epochs").due(Unit::epochs, 4));
  CHECK_FALSE(every("2epochs").due(Unit::epochs, 3));
  CHECK_FALSE(every("2epochs").due(Unit::steps, 4));
  CHECK_FALSE(CheckpointEvery().due(Unit::epochs, 1));
  for (const char* text : {"", "5", "epoch", "0steps", "5 steps", "-1steps", "1.5epochs", "5step5",
                           "99999999999999999999steps"}) {
    CHECK_THAT(refusal({"train", "--checkpoint-every", text}), Contains("--checkpoint-every"));
  }
}

TEST_CASE("a faulty command line is refused with its remedy", "[command_line]") {
  const struct {
    Line words;
    std::string first, second;
  } cases[] = {
      {{"train", "--foo"}, "unknown option --foo;", "rueda train --help"},
      {{"train", "--bach-per-rank=4"}, "did you mean --batch-per-rank?", ""},
      {{"train", "--epoch", "3"}, "did you mean --epochs?", ""},
      {{"train", "--batch-size", "3"}, "did you mean --batch-per-rank?", ""},
      {{"train", "--learning_rate=3"}, "did you mean --lr?", ""},
      {{"train", "--num-epochs", "3"}, "did you mean --epochs?", ""},
      {{"train", "--batch_per_rank", "3"}, "did you mean --batch-per-rank?", ""},
      {{"train", "--gpus", "2"}, "mpirun -n 2 rueda train ...", ""},
      {{"train", "-n", "4"}, "mpirun -n 4 rueda train ...", ""},
      {{"evaluate", "--nproc_per_node=3"}, "mpirun -n 3 rueda evaluate ...", ""},
      {{"train", "--gpus", "all"}, "mpirun -n N rueda train ...", ""},
      {{"--epochs", "2", "train"},
       "--epochs stands before its command: write rueda train --epochs",
       ""},
      {{"train", "--all-reduce", "rign"}, "did you mean ring?", "auto or ring"},
      {{"train", "--model", "ResNet50"}, "did you mean resnet50v2?", "resnet20, "},
      {{"--version", "extra"}, "--version is given alone", "rueda --help"},
      {{"train", "word"}, "unexpected argument word", ""},
      {{"evaluate", "runs/a"},
       "unexpected argument runs/a: did you mean --init-weights runs/a?",
       ""},
      {{"tarin"}, "'tarin'", "did you mean train?"},
      {{"train", "--epochs"}, "--epochs takes a value", ""},
      {{"train", "--epochs", "2.5"}, "--epochs: '2.5'", ""},
      {{"train", "--epochs", "-3"}, "--epochs: '-3'", ""},
      {{"train", "--seed", "18446744073709551616"}, "--seed", ""},
      {{"train", "--lr", "0.1x"}, "--lr: '0.1x'", ""},
      {{"train", "--lr", "nan"}, "--lr: 'nan'", ""},
      {{"train", "--shard", "0"}, "--shard: '0'", "fixed"},
      {{"train", "--batch-per-rank", "min"}, "--batch-per-rank", "'min'"},
      {{"train", "--batch-per-rank", "1", "--global-batch", "2"}, "one of the two", ""},
      {{"train", "--keep", "0"}, "--keep is 0", ""},
      {{"train", "--save-weights", "w.pt"}, "--save-weights w.pt: ", "ends in .safetensors"},
      {{"train", "--resume", "auto"}, "--run-dir", ""},
      {{"train", "--log-level", "loud"}, "--log-level: 'loud'", "debug"},
      {{"train", "--config", "/nonexistent/r.toml"}, "/nonexistent/r", ""},
      {{"train", "--config", "/tmp"}, "/tmp", ""},
      {{"synth"}, "--out", ""},
      {{"synth", "--out", "d", "--train", "0"}, "--train", ""},
      {{"summary", "--model", "vgg"}, "vgg' is not known: give one", ""},
  };
  for (const auto& c : cases) CHECK_THAT(refusal(c.words), Contains(c.first) && Contains(c.second));
}

TEST_CASE("help fits the terminal, with a default for each option and an example",
          "[command_line]") {
  for (const char* columns : {"80", "120"}) {
    ::setenv("COLUMNS", columns, 1);
    for (const Line& words : {Line{}, Line{"train"}, Line{"summary"}, Line{"synth"}, Line{"doctor"},
                              Line{"watch"}, Line{"bench"}, Line{"bench", "all-reduce"},
                              Line{"bench", "explain"}, Line{"bench", "layers"}}) {
      Line asked = words;
      asked.push_back(words == Line{"train"} ? "--help-all" : "--help");
      const auto help = std::get<PrintText>(parse_command_line(asked)).text;
      CHECK_THAT(help, Contains("\nExample:\n  "));
      std::istringstream lines(help.substr(0, help.find("\nExample")));
      std::string last = "]";
      for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(line.size() <= std::stoul(columns));
        if (line.starts_with("  --") && !line.starts_with("  --help-all"))
          CHECK(last.ends_with("]"));
        if (line.starts_with("  -h") || line.starts_with("  --help-all") || line == "Options:")
          last = "]";
        else if (line.starts_with("  "))
          last = line;
      }
    }
  }
  ::unsetenv("COLUMNS");
}

TEST_CASE("the text of an option stands alone, and the first help has exit codes and the manual",
          "[command_line]") {
  ::setenv("COLUMNS", "10000", 1);
  for (const Line& words : {Line{"train"}, Line{"summary"}, Line{"synth"}, Line{"doctor"},
                            Line{"evaluate"}, Line{"watch"}, Line{"bench", "all-reduce"},
                            Line{"bench", "explain"}, Line{"bench", "layers"}}) {
    Line asked = words;
    asked.push_back(words == Line{"train"} ? "--help-all" : "--help");
    std::istringstream lines(help_of(asked));
    const std::regex row("  --[a-z-]+( \\S+)?( +(.*))?");
    bool label = false;
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      std::smatch found;
      std::string text = line;
      if (std::regex_match(line, found, row)) text = found[3];
      const bool follows = label && text == line;
      label = text.empty();
      if (label || (text == line && !follows)) continue;
      CHECK(std::regex_search(text, std::regex("^ *[A-Z]")));
      CHECK(!std::regex_search(text, std::regex("^ *(Of|That|Between|Within|In|0) ")));
    }
  }
  CHECK_THAT(help_of({"--help"}), Contains("Exit codes: 0 done, 1 ") && Contains("docs/README.md"));
  ::unsetenv("COLUMNS");
}

TEST_CASE("the first help of train fits a screen, and has what most runs need", "[command_line]") {
  ::setenv("COLUMNS", "80", 1);
  const auto help = help_of({"train", "--help"});
  CHECK(std::ranges::count(help, '\n') <= 60);
  for (const char* shown : {"--model", "--data", "--epochs", "--batch-per-rank", "--resume"})
    CHECK_THAT(help, Contains(std::string("  ") + shown));
  for (const char* hidden : {"--compute", "--segment-kb", "--nesterov"})
    CHECK_THAT(help, !Contains(std::string("  ") + hidden));
  ::unsetenv("COLUMNS");
}

TEST_CASE("help of a topic has its options alone, and that of an option the option",
          "[command_line]") {
  const auto all = help_of({"train", "--help-all"});
  CHECK(all.find("\nTuning and tests:") > all.find("\nOutput:"));
  std::set<std::string> topics;
  for (const TrainOption& option : train_options()) {
    INFO(option.name);
    const std::string heading = option.group;
    const std::string topic = lowered(heading.substr(0, heading.find(' ')));
    topics.insert(topic);
    const auto help = help_of({"train", "--help", topic});
    CHECK_THAT(help, Contains("  --" + std::string(option.name)) && Contains(heading + ":"));
    const auto own = help_of({"train", "--help", option.name});
    CHECK_THAT(own, Contains("  --" + std::string(option.name)));
    CHECK((own.find("\n  --") == own.rfind("\n  --") || option.name == topic));
  }
  CHECK_THAT(help_of({"train", "--help", "data"}),
             Contains("--augment") && !Contains("--epochs N"));
  for (const std::string& topic : topics) CHECK_THAT(help_of({"train", "--help"}), Contains(topic));
  CHECK_THAT(refusal({"train", "--help", "devise"}),
             Contains("--help devise") && Contains("did you mean device?"));
  CHECK_THAT(help_of({"train", "--help", "result"}),
             Contains("  noise scale ") && Contains("  parameter hash ") && !Contains("--epochs"));
}

TEST_CASE("help and version are texts to print", "[command_line]") {
  for (const Line& words : {Line{"--help"}, Line{"train", "--help"}, Line{"--version"}}) {
    const auto request = parse_command_line(words);
    REQUIRE(std::holds_alternative<PrintText>(request));
    CHECK_THAT(std::get<PrintText>(request).text, Contains("rueda"));
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
    CHECK(c.model.name == "resnet18");
    CHECK(c.data.path == "with space, # and comma");
    CHECK(c.batch.per_rank == 12);
    CHECK(c.optimizer.lr == 5e-2);
    CHECK(c.optimizer.nesterov);
  }
}

TEST_CASE("a recipe is read in UTF-8 and UTF-16, with a mark of the byte order or without",
          "[command_line]") {
  std::string little;
  for (const char c : std::string("epochs = 7\nlr = 0.3\n")) little += {c, '\0'};
  for (const std::string& text : {std::string("\xEF\xBB\xBF"
                                              "epochs = 7\n"),
                                  little, "\xFF\xFE" + little}) {
    const Recipe recipe(text);
    CHECK(trained_by(recipe.command()).training.epochs == 7);
  }
}

TEST_CASE("the command line wins over the recipe", "[command_line]") {
  const Recipe recipe("epochs = 7\nbatch-per-rank = 12\nnesterov = true\nlr = 0.3\n");
  const TrainConfig c =
      trained_by(recipe.command({"--epochs", "2", "--global-batch", "64", "--nesterov=false"}));
  CHECK(c.training.epochs == 2);
  CHECK(c.batch.global == 64);
  CHECK(c.batch.per_rank == TrainConfig{}.batch.per_rank);
  CHECK_FALSE(c.optimizer.nesterov);
  CHECK(c.optimizer.lr == 0.3);
}

TEST_CASE("a faulty recipe is refused with file, line and remedy", "[command_line]") {
  const struct {
    std::string text, line, what;
  } cases[] = {
      {"rate = 1\n", "line 1", "'rate' is not an option"},
      {"batch_per_rank = 1\n", "line 1", "did you mean batch-per-rank?"},
      {"learning_rate = 1\n", "line 1", "did you mean lr?"},
      {"gpus = 4\n", "line 1", "mpirun -n 4 rueda train"},
      {"run-dir = \"a\\nrueda: all fine\"\n", "line 1", "'a\\x0arueda: all fine' has control"},
      {"data = \"a\\u0000b\"\n", "line 1", "'a\\x00b' has control characters"},
      {"epochs = \"1\\nrueda: all fine\\u0000\"\n", "line 1",
       "'1\\x0arueda: all fine\\x00' is not"},
      {"\nmodel resnet20\n", "line 2", "option = value"},
      {"model = resnet20\n", "line 1", "quotes"},
      {"model = \"resnet20\n", "line 1", "quotes"},
      {"x\n", "line 1", "option = value"},
      {"lr =\n", "line 1", "option = value"},
      {";lr = 0.1\n", "line 1", "option = value"},
      {"-- = 1\n", "line 1", "'--' is not an option"},
      {"\"--\" = 1\n", "line 1", "'--' is not an option"},
      {"batch-per-rank = \"18446744073709551615\"\n", "line 1", "batch-per-rank"},
      {"\"\" = 1\n", "line 1", "is not an option"},
      {"\"a\\u001bb\" = 1\n", "line 1", "\\x1b"},
      {"lr = [0.1]\n", "line 1", "a list"},
      {"lr = { x = 1 }\n", "line 1", "a list"},
      {"lr = 2020-01-01\n", "line 1", "a date"},
      {"lr.x = 1\n", "line 1", "[train]"},
      {"\n[synth]\nseed = 3\n", "line 2", "[train]"},
      {"[[train]]\nseed = 3\n", "line 1", "a list"},
      {"[train]\nseed = 3\n[train.deep]\nlr = 1\n", "line 3", "[train]"},
      {"lr = 0.1\nepochs = 1\nlr = 0.2\n", "line 3", "given twice"},
      {"lr = 0.1\n[train]\nlr = 0.1\n", "line 3", "given twice"},
      {"\nepochs = 0.5\n", "line 2", "--epochs: '0.5'"},
      {"lr = inf\n", "line 1", "--lr: 'inf'"},
      {"nesterov = 3\n", "line 1", "nesterov"},
      {"seed = 99999999999999999999\n", "line 1", "does not fit"},
      {"config = \"other\"\n", "line 1", "'config'"},
      {"help = true\n", "line 1", "'help'"},
      {"data = \"\xff\"\n", "line 1", ""},
      {"batch-per-rank = 1\nglobal-batch = 2\n", "line 2", "exclude each other"},
  };
  for (const auto& c : cases) {
    INFO(c.text);
    CHECK_THAT(refusal(Recipe(c.text).command()),
               Contains("--config /") && Contains("recipe.toml, " + c.line) && Contains(c.what));
  }
}

TEST_CASE("synth and summary take their options", "[command_line]") {
  const auto synth = std::get<SynthRequest>(parse_command_line(
      {"synth", "--out", "d", "--format", "py", "--train", "7", "--test", "3", "--seed", "9"}));
  CHECK(synth.out == "d");
  CHECK(synth.format == Cifar10Format::python);
  CHECK((synth.drawing.train == 7 && synth.drawing.test == 3 && synth.drawing.seed == 9));
  const auto summary = std::get<SummaryOptions>(
      parse_command_line({"summary", "--image-size", "64", "--classes", "100"}));
  CHECK((summary.train.model.image_size == 64 && summary.classes == 100));
}
