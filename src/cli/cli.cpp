#include "cli/cli.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/hints.hpp"
#include "cli/options.hpp"
#include "commands/reader.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/versions.hpp"

namespace rueda {

const char* to_string(Cifar10Format v) { return v == Cifar10Format::binary ? "bin" : "py"; }

namespace {

void add_summary(CLI::App& app, Request& request) {
  CLI::App& command =
      add_command(app, "summary", "Prints a network's layers, parameters, FLOPs and memory",
                  "  rueda summary --model resnet18 --batch-per-rank 128\n"
                  "  rueda summary --model resnet50v2 --image-size 128 --memory 64GB");
  auto& options = options_of<SummaryOptions>(command, request);
  TrainConfig& train = options.train;
  add_option(command, shared_option("model"), train);
  add_option(command, shared_option("image-size"), train);
  add_number(command, "--classes", options.classes, "N", "Number of classes");
  add_option(command, plain_option("batch-per-rank", "Images that a rank computes at once"), train);
  add_option(command,
             plain_option("backend", "Device whose memory is planned; cuda: needs a GPU here"),
             train);
  add_option(command, shared_option("precision"), train);
  add_option(command, shared_option("recompute"), train);
  add_number(command, "--ranks", options.ranks, "N",
             "Number of ranks, for the memory of the all-reduce");
  add_option(command, shared_option("threads", "Threads of a rank; 0: all cores"), train);
  add_text(command, "--memory", options.memory, "SIZE",
           "Finds the largest batch whose training fits into this much memory, for example 64GB");
  add_text(
      command, "--roofline", options.roofline, "GPU",
      "Prints instead the minimum time of a step of the cuda backend on an H200, H100 or A100, or "
      "at given FLOP/s,bytes/s; needs no GPU");
}

void add_synth(CLI::App& app, Request& request) {
  CLI::App& command =
      add_command(app, "synth", "Writes a synthetic data set in the official CIFAR-10 file format",
                  "  rueda synth --out data/synth --format bin --train 5000 --test 1000");
  auto& options = options_of<SynthRequest>(command, request);
  add_text(command, "--out", options.out, "DIR", "Directory to write to")->required();
  add_choice(command, "--format", options.format, {Cifar10Format::binary, Cifar10Format::python},
             "Version of the files: binary or Python");
  add_number(command, "--train", options.drawing.train, "N", "Number of training images");
  add_number(command, "--test", options.drawing.test, "N", "Number of test images");
  add_number(command, "--classes", options.drawing.classes, "N",
             "Number of classes, from 2 to 100");
  add_number(command, "--seed", options.drawing.seed, "N", "Seed of the images");
  command.add_flag("--overwrite", options.overwrite, "Replaces another data set in DIR");
}

void add_doctor(CLI::App& app, Request& request) {
  CLI::App& command = add_command(
      app, "doctor", "Checks launcher, cores, GPUs, MPI and data; launch it as you launch train",
      "  mpirun -n 2 rueda doctor\n"
      "  srun --mpi=pmix -n 8 --cpus-per-task=16 rueda doctor --data data/cifar-10");
  auto& options = options_of<DoctorOptions>(command, request);
  add_text(command, "--data", options.data, "DIR",
           "Also checks this data set on all ranks: files, images per class, class names");
  add_text(command, "--json", options.json, "FILE", "Writes all facts and findings to this file");
  add_choice(command, "--backend", options.backend,
             {BackendChoice::automatic, BackendChoice::cpu, BackendChoice::cuda},
             "Device that training will use");
  command.add_flag("--allow-shared-gpu", options.allow_shared_gpu,
                   "Accepts several ranks on one GPU");
  add_number(
      command, "--timeout", options.timeout, "SECONDS",
      "Time limit of each step of the examination; reading files may take ten times as long");
}

/// Of the options that training has too, those that change what a network answers, and where.
void add_evaluate(CLI::App& app, Request& request) {
  CLI::App& command = add_command(
      app, "evaluate",
      "Scores a network on the test images: loss, accuracy by class, confusion matrix",
      "  rueda evaluate --init-weights w.safetensors --model resnet18 --data data/cifar\n"
      "  mpirun -n 2 rueda evaluate --init-weights runs/resnet20-np2-1 --plot matrix.png");
  auto& options = options_of<EvaluateOptions>(command, request);
  TrainConfig& config = options.train;
  add_text(command, "--init-weights", config.model.init_weights, "PATH",
           "Weights to score: a .safetensors file, a checkpoint, or a run directory, of which the "
           "latest checkpoint is taken, else the final weights; a checkpoint and a run directory "
           "bring the options of their run")
      ->required();
  add_option(command, plain_option("backend", "Device that computes"), config);
  add_option(command,
             plain_option("batch-per-rank", "Images that a rank computes at once, up to 256"),
             config);
  add_text(command, "--predictions", options.predictions, "FILE",
           "Writes a CSV line for each image to this file: label, predicted class, probabilities");
  add_text(command, "--json", options.json, "FILE", "Writes all figures to this file");
  add_text(command, "--plot", options.plot, "FILE",
           "Draws the confusion matrix to this .png, .pdf or .svg file; needs matplotlib");
  for (const TrainOption& option : train_options())
    if (option.uses.evaluates && command.get_option_no_throw(name_of(option)) == nullptr)
      add_option(command, option, config);
  command.parse_complete_callback([&command, &config] { note_given(command, config); });
}

void add_watch(CLI::App& app, Request& request) {
  CLI::App& command =
      add_command(app, "watch", "Shows the progress of a run, from another terminal or login",
                  "  rueda watch runs/resnet20-np4-1\n"
                  "  rueda watch runs/resnet20-np4-1 --json -");
  auto& options = options_of<WatchOptions>(command, request);
  command.add_option("RUN_DIR", options.run_directory, "Directory of a run of rueda train")
      ->required()
      ->option_text(" ");
  command.add_flag("--once", options.once,
                   "Prints the status once and ends, as it does without a terminal");
  add_text(command, "--json", options.json, "FILE",
           "Writes the last report of rank 0 to this file; -: to standard output");
  add_number(command, "--interval", options.interval, "SECONDS",
             "Time between two updates of the screen");
}

/// For the reader of runs, not for people: no help lists them.
void add_hidden(CLI::App& app, Request& request) {
  CLI::App& forecast = add_command(
      app, "forecast", "Answers questions in JSON on standard input by the cost model", "");
  options_of<ForecastOptions>(forecast, request);
  CLI::App& definitions = add_command(
      app, "definitions", "Prints in JSON what the reader of runs shares with this program", "");
  options_of<DefinitionsOptions>(definitions, request);
  for (CLI::App* command : {&forecast, &definitions}) command->group("");
}

void build(CLI::App& app, Request& request) {
  app.formatter(help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text, "Prints the versions of rueda and its libraries");
  app.footer(
      "rueda COMMAND --help shows the options of a command.\n"
      "Exit codes: 0 done, 1 failed, 2 bad usage or input, 75 asked to stop and saved.\n"
      "Manual: docs/README.md in the source tree.\n\nExample:\n"
      "  mpirun -n 2 rueda doctor\n"
      "  mpirun -n 2 rueda train --epochs 1 --data-limit 2000 --run-dir runs/first\n"
      "  rueda report runs/first");
  // In the order in which a user needs them.
  add_doctor(app, request);
  add_synth(app, request);
  add_summary(app, request);
  add_train(app, request);
  add_watch(app, request);
  add_evaluate(app, request);
  for (const ReaderCommand& command : kReaderCommands)
    add_command(app, command.name, command.purpose, "");
  add_bench(app, request);
  add_hidden(app, request);
}

/// The innermost command that the user named, or the program.
const CLI::App& begun_command(const CLI::App& app) {
  const auto begun = app.get_subcommands();
  if (begun.empty()) return app;
  return begun_command(*begun.front());
}

/// Names the help of the command that the user named, or the program's.
std::string see_help(const CLI::App& app) {
  return "see " + full_name(begun_command(app)) + " --help";
}

std::vector<std::string> known_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

/// An option that the innermost command does not have, or that stands before it.
std::string unknown_option(const CLI::App& begun, const std::vector<std::string>& rest) {
  const std::string name = rest.front().substr(0, rest.front().find('='));
  if (begun.get_option_no_throw(name) != nullptr)
    return fmt::format("{} stands before its command: write {} {} ...", printable(name),
                       full_name(begun), printable(name));
  if (const std::string removal = removal_of(begun, name); !removal.empty()) return removal;
  std::string value;
  if (rest.size() > 1) value = rest[1];
  if (name != rest.front()) value = rest.front().substr(name.size() + 1);
  std::string hint = hint_for(begun, name, value);
  const auto has_it = [&](const CLI::App* command) {
    return command->get_name() == "train" && command->get_option_no_throw(name) != nullptr;
  };
  if (hint.empty() && !begun.get_subcommands(has_it).empty())
    hint = ": did you mean rueda train " + name + "?";
  return "unknown option " + printable(rest.front()) + hint;
}

/// A word that belongs to no option: perhaps to the one that is required.
std::string stray_word(const CLI::App& begun, const std::string& word) {
  std::string text = "unexpected argument " + printable(word);
  for (const CLI::Option* option : begun.get_options()) {
    if (!option->get_required() || option->get_positional() || option->count() > 0) continue;
    text += ": did you mean " + option->get_name() + ' ' + printable(word) + '?';
  }
  return text;
}

/// Where a command is due, and `word` is none.
std::string no_command(const CLI::App& app, const CLI::App& begun, const std::string& word) {
  std::string of;
  if (&begun != &app) of = " of " + begun.get_name();
  std::string text = "a command" + of + " is missing";
  const std::vector<std::string> known = known_commands(begun);
  if (!word.empty()) {
    text = "'" + printable(word) + "' is not a command" + of;
    if (const std::string hint = did_you_mean(word, known); !hint.empty()) return text + hint;
  }
  return text + ": give one of " + joined(known, ", ");
}

/// CLI11's message, or a plainer one where CLI11 names no remedy.
std::string plain_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto rest = app.remaining(true);
  std::string first;
  if (!rest.empty()) first = rest.front();
  const CLI::App& begun = begun_command(app);
  if (!known_commands(begun).empty() && !first.starts_with('-')) {
    if (const std::string removal = removal_of(begun, first); !removal.empty()) return removal;
    return no_command(app, begun, first);
  }
  if (first.starts_with('-')) return unknown_option(begun, rest);
  if (!first.empty()) return stray_word(begun, first);
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return message + ": give one of the two";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return message.substr(0, message.find(':')) + " takes a value";
  return message;
}

}  // namespace

Request parse_command_line(const std::vector<std::string>& arguments) {
  CLI::App app("Trains ResNets on CIFAR-10 with one MPI rank per device.", "rueda");
  Request request;
  build(app, request);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return request;
  } catch (const CLI::CallForHelp&) {
    return PrintText{help_text(app, arguments)};
  } catch (const CLI::CallForAllHelp&) {
    return PrintText{help_text(app, arguments)};
  } catch (const CLI::CallForVersion& version) {
    require(arguments.size() == 1, "--version is given alone; see rueda --help");
    return PrintText{std::string(version.what()) + '\n'};
  } catch (const CLI::ParseError& error) {
    throw InputError(plain_message(app, error) + "; " + see_help(app));
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + "; " + see_help(app));
  }
}

}  // namespace rueda
