#include "cli.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "options.hpp"
#include "rueda/core/error.hpp"
#include "wiring/open_backend.hpp"

namespace rueda {

const char* to_string(Cifar10Format v) { return v == Cifar10Format::binary ? "bin" : "py"; }

namespace {

constexpr std::size_t kHelpColumn = 40;
constexpr std::size_t kMostImages = 10'000'000;

/// Options of every subcommand, and the parser that fills them.
struct CommandLine {
  CLI::App app{"Trains ResNets on CIFAR-10 with one MPI rank per device.", "rueda"};
  TrainConfig train;
  SummaryOptions summary;
  SynthRequest synth;
  DoctorOptions doctor;
  BenchLine bench;
  PredictOptions predict;
  ReportOptions report;
  std::string recipe;
};

void add_train(CommandLine& line) {
  CLI::App& command = add_command(
      line.app, "train", "Trains a network; start it with mpirun or srun, a rank per device",
      "  mpirun -n 2 --bind-to none rueda train --model resnet20 --data data/synth\n"
      "  mpirun -n 2 --bind-to none rueda train --config recipe.toml --epochs 10");
  command
      .add_option("--config", line.recipe,
                  "TOML recipe of lines  option = value, for example  batch-per-rank = 128; the "
                  "command line takes precedence")
      ->option_text("FILE")
      ->configurable(false);
  add_train_options(command, line.train);
  // The command line is read by now: the recipe only sets what it left open.
  command.parse_complete_callback([&line, &command] {
    if (!line.recipe.empty()) apply_recipe(command, line.recipe);
    if (!line.train.resume.empty()) apply_resumed_options(command, line.train);
    if (!line.train.reduce_table.empty())
      set_if_open(*command.get_option("--all-reduce"), "auto", "--reduce-table");
    note_given(command, line.train);
  });
}

void add_summary(CommandLine& line) {
  CLI::App& command =
      add_command(line.app, "summary", "Prints a network's layers, parameters, FLOPs and memory",
                  "  rueda summary --model resnet18 --batch-per-rank 128\n"
                  "  rueda summary --model resnet50v2 --image-size 128 --memory 64GB");
  add_text(command, "--model", line.summary.model, "NAME", "Network");
  add_number(command, "--image-size", line.summary.image_size, "PIXELS", "Side of the images");
  add_number(command, "--classes", line.summary.classes, "N", "Classes");
  add_number(command, "--batch-per-rank", line.summary.batch_per_rank, "N",
             "Samples that a rank holds at once");
  add_choice(command, "--backend", line.summary.backend,
             {BackendChoice::automatic, BackendChoice::cpu, BackendChoice::cuda},
             "Device whose memory is planned; cuda needs a GPU here");
  add_choice(command, "--precision", line.summary.precision,
             {Precision::fp32, Precision::tf32, Precision::bf16},
             "Activations and packed weights, for the memory");
  add_choice(command, "--recompute", line.summary.recompute,
             {Recompute::none, Recompute::batch_norm, Recompute::block},
             "Activations that training makes again instead of keeping them, for the memory");
  add_number(command, "--ranks", line.summary.ranks, "N",
             "Ranks that the all-reduce is planned for");
  add_number(command, "--threads", line.summary.threads, "N", "Threads of a rank, 0 for all cores");
  add_text(command, "--memory", line.summary.memory, "SIZE",
           "Finds the largest batch whose training fits into this, for example 64GB");
}

void add_synth(CommandLine& line) {
  CLI::App& command =
      add_command(line.app, "synth", "Draws a data set in the official CIFAR-10 file format",
                  "  rueda synth --out data/synth --format bin --train 5000 --test 1000");
  add_text(command, "--out", line.synth.out, "DIR", "Directory to write to")->required();
  add_choice(command, "--format", line.synth.format, {Cifar10Format::binary, Cifar10Format::python},
             "Binary or Python version of the files");
  add_number(command, "--train", line.synth.drawing.train, "N", "Training images");
  add_number(command, "--test", line.synth.drawing.test, "N", "Test images");
  add_number(command, "--seed", line.synth.drawing.seed, "N", "Seed of the drawing");
  command.add_flag("--overwrite", line.synth.overwrite, "Replaces another data set in DIR");
}

void add_doctor(CommandLine& line) {
  CLI::App& command = add_command(
      line.app, "doctor", "Examines launcher, cores, GPUs, MPI and data; run it as you run train",
      "  mpirun -n 2 --bind-to none rueda doctor\n"
      "  srun --mpi=pmix -n 8 --cpus-per-task=16 rueda doctor --data data/cifar-10 --json d.json");
  add_text(command, "--data", line.doctor.data, "DIR",
           "Checks this data set on all ranks: files, images per class, class names");
  add_text(command, "--json", line.doctor.json, "FILE",
           "Writes everything that was found to this file");
  add_choice(command, "--backend", line.doctor.backend,
             {BackendChoice::automatic, BackendChoice::cpu, BackendChoice::cuda},
             "Device that training will use");
  command.add_flag("--allow-shared-gpu", line.doctor.allow_shared_gpu,
                   "Accepts several ranks on one GPU");
  add_number(command, "--timeout", line.doctor.timeout, "SECONDS",
             "Time limit of a step; ten times as long for reading files");
  add_text(command, "--fault", line.doctor.fault, "KIND:RANK", "For tests")->group("");
}

void build(CommandLine& line) {
  line.app.get_formatter()->column_width(kHelpColumn);
  line.app.require_subcommand(1);
  line.app.set_version_flag("--version", version_text, "Versions of rueda and its libraries");
  line.app.footer("rueda COMMAND --help shows the options of a command.");
  add_train(line);
  add_summary(line);
  add_synth(line);
  add_doctor(line);
  add_bench(line.app, line.bench);
  add_predict(line.app, line.predict);
  add_report(line.app, line.report);
}

/// The innermost command that the user named, or the program.
const CLI::App& begun_command(const CLI::App& app) {
  const auto begun = app.get_subcommands();
  return begun.empty() ? app : begun_command(*begun.front());
}

/// "rueda bench tune".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

/// Names the help of the command that the user named, or the program's.
std::string see_help(const CLI::App& app) {
  return "see " + full_name(begun_command(app)) + " --help";
}

std::string known_commands(const CLI::App& app) {
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known += (known.empty() ? "" : ", ") + command->get_name();
  return known;
}

/// CLI11's message, or a plainer one where CLI11 names no remedy.
std::string plain_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto rest = app.remaining(true);
  const std::string first = rest.empty() ? "" : rest.front();
  const CLI::App& begun = begun_command(app);
  if (!known_commands(begun).empty() && !first.starts_with('-')) {
    const std::string of = &begun == &app ? "" : " of " + begun.get_name();
    return (first.empty() ? "a command" + of + " is missing"
                          : "'" + first + "' is not a command" + of) +
           ": give one of " + known_commands(begun);
  }
  if (!first.empty())
    return (first.starts_with('-') ? "unknown option " : "unexpected argument ") + first;
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return message + ": give one of the two";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return message.substr(0, message.find(':')) + " takes a value";
  return message;
}

void validate(const SynthRequest& request) {
  const auto [least, most] = std::minmax(request.drawing.train, request.drawing.test);
  require(least >= 1 && most <= kMostImages,
          "--train and --test must be from 1 to " + std::to_string(kMostImages));
}

void validate(const SummaryOptions& options) {
  TrainConfig config;  // the same limits as for training
  config.model = options.model;
  config.image_size = options.image_size;
  config.batch_per_rank = options.batch_per_rank;
  config.threads = options.threads;
  validate(config);
  if (!options.memory.empty()) parse_memory(options.memory);
  require(options.ranks >= 1 && options.ranks <= 100'000, "--ranks must be from 1 to 100000");
  require(options.classes >= 1 && options.classes <= 100'000, "--classes must be from 1 to 100000");
}

Request checked_request(const CommandLine& line) {
  const std::string name = begun_command(line.app).get_name();
  const auto checked = [](auto options) -> Request {
    validate(options);
    return options;
  };
  if (name == "summary") return checked(line.summary);
  if (name == "synth") return checked(line.synth);
  if (name == "doctor") return checked(line.doctor);
  if (name == "all-reduce") return checked(line.bench.all_reduce);
  if (name == "tune") return checked(line.bench.tune);
  if (name == "explain") return checked(line.bench.explain);
  if (name == "predict") return checked(line.predict);
  if (name == "report") return checked(line.report);
  return checked(line.train);
}

}  // namespace

void validate(DoctorOptions& options) {
  require(options.timeout >= 1 && options.timeout <= 86'400,
          "--timeout must be from 1 to 86400 seconds");
  const std::string& fault = options.fault;
  if (fault.empty()) return;
  std::vector<std::string> known;
  for (const DoctorFault& one : kDoctorFaults) known.emplace_back(one.name);
  const std::size_t colon = std::min(fault.find(':'), fault.size());
  options.injected_kind = fault.substr(0, colon);
  try {
    options.injected_rank = parse_number<int>(fault.substr(std::min(colon + 1, fault.size())));
  } catch (const InputError&) {
    options.injected_rank = -1;
  }
  require(
      std::ranges::count(known, options.injected_kind) == 1 && options.injected_rank >= 0,
      fmt::format("--fault '{}' is not KIND:RANK with one of {}", fault, fmt::join(known, ", ")));
}

Request parse_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  build(line);
  try {
    line.app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return checked_request(line);
  } catch (const CLI::CallForHelp&) {
    return PrintText{line.app.help()};
  } catch (const CLI::CallForVersion& version) {
    return PrintText{std::string(version.what()) + '\n'};
  } catch (const CLI::ParseError& error) {
    throw InputError(plain_message(line.app, error) + "; " + see_help(line.app));
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + "; " + see_help(line.app));
  }
}

}  // namespace rueda
