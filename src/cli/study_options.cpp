#include "cli/options.hpp"

namespace rueda {
namespace {

using predict::Scheme;

/// Adds an option that may be repeated.
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                      const std::string& placeholder, const std::string& description) {
  return app.add_option(name, values, description)
      ->option_text(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Adds an option that takes one of `words`, which help lists.
void add_words(CLI::App& app, const std::string& name, std::string& value,
               const std::vector<const char*>& words, const std::string& description) {
  add_parsed(app, name, joined(words, "|"), description, value,
             [&value, words](const std::string& text) { value = words[parse_word(words, text)]; });
}

void add_scenario(CLI::App& command, PredictOptions& o) {
  add_text(command, "--ranks", o.rank_words, "LIST",
           "Predicts for these numbers of ranks, each up to 16384");
  add_model(command, o.target.model, "Network to predict [that of the runs]");
  add_number(command, "--image-size", o.target.image_size, "PIXELS",
             "Side of the images; 0: as in the runs, or 32 without runs");
  add_number(command, "--classes", o.target.classes, "N",
             "Number of classes; 0: as in the runs, or 10 without runs");
  add_number(command, "--batch-per-rank", o.batch_per_rank, "N",
             "Images of each rank in a step; 0: as in the runs");
  add_number(command, "--global-batch", o.global_batch, "N",
             "Images of all ranks in a step, instead of --batch-per-rank; 0: not given");
  add_number(command, "--images", o.images, "N",
             "Images of an epoch; 0: as in the runs, or 50000 without runs");
  add_choice(command, "--algorithm", o.scheme,
             {Scheme::ring, Scheme::hierarchical, Scheme::doubling, Scheme::best},
             "Algorithm that sums the gradients; best: the fastest one for each bucket");
  add_choice(command, "--overlap", o.overlap, {Overlap::automatic, Overlap::on, Overlap::off},
             "Whether communication runs during backward; auto: as in the runs");
  add_number(command, "--bucket-mb", o.target.bucket_mb, "MB",
             "Size of the buckets, cut as training would cut them [as in the runs, or 25]");
  add_number(command, "--ranks-per-node", o.target.ranks_per_node, "N",
             "Ranks that share a node and its inner links; 0: all links are of one kind");
  add_number(command, "--links-per-node", o.target.links_per_node, "N",
             "Messages that can leave a node at full speed at the same time");
}

/// An amount with its unit, which `parse` reads.
void add_amount(CLI::App& command, const std::string& name, std::optional<double>& value,
                double (*parse)(const std::string& option, const std::string& text),
                const char* placeholder, const std::string& description) {
  command
      .add_option_function<std::string>(
          name, [&value, name, parse](const std::string& text) { value = parse(name, text); },
          description)
      ->option_text(placeholder);
}

void add_given(CLI::App& command, PredictOptions& o) {
  const auto add_time = [&](const char* name, std::optional<double>& value, const char* help) {
    add_amount(command, name, value, predict::parse_seconds, "TIME", help);
  };
  const auto add_rate = [&](const char* name, std::optional<double>& value, const char* help) {
    add_amount(command, name, value, predict::parse_rate, "RATE", help);
  };
  add_time("--alpha", o.given.alpha, "Latency of a message between nodes, instead of a fitted one");
  add_rate("--bandwidth", o.given.bandwidth,
           "Bandwidth between nodes, for example 10GB/s: 1/beta, with beta in seconds per byte");
  add_time("--inside-alpha", o.given.inside_alpha, "Latency of a message within a node");
  add_rate("--inside-bandwidth", o.given.inside_bandwidth, "Bandwidth within a node");
  add_rate("--add-rate", o.given.add_rate, "Bytes that a rank adds per second");
  add_time("--compute", o.given.step_seconds,
           "Time of a step of --batch-per-rank images on one rank, instead of runs");
  add_time("--fixed", o.given.fixed, "Part of --compute that does not depend on the batch");
  add_amount(command, "--message-noise", o.given.message_noise, predict::parse_share, "SHARE",
             "Standard deviation of a message's time relative to its mean, for --simulate");
  add_text(command, "--what-if", o.what_if, "CHANGES",
           "Predicts for a changed machine: bandwidth, latency, inside-bandwidth, inside-latency, "
           "add-rate, compute-time, noise, each as =2x or =VALUE, separated by commas; balance, "
           "alone: for ranks that share each batch by their speed (train --balance speed)");
}

/// Why `word` is none of `words`; empty if it is one.
std::string fault_of(const std::string& word, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  for (const std::string& text : words) texts.push_back(text.c_str());
  try {
    parse_word(texts, word);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

void add_outputs(CLI::App& command, ReportOptions& options) {
  add_text(command, "--out", options.out, "DIR",
           "Writes report.md, report.json, tables/*.csv, plots and report.html to this directory; "
           "without it, only the overview is printed");
  add_text(command, "--title", options.title, "TEXT",
           "Heading of the report, instead of one that names its runs");
  const std::vector<std::string> layouts = layout_names();
  add_list(command, "--layout", options.layouts, joined(layouts, "|"),
           "Writes the tables of a hand-in too, by the task numbers of its course: book (Torres, "
           "chapter 10), sa-miri (its course of 2025), lab5 (CC-MEI), nyu (lab on data "
           "parallelism); may be repeated")
      ->check([layouts](const std::string& word) { return fault_of(word, layouts); });
  add_words(command, "--plots", options.plots, {"auto", "on", "off"},
            "Draws plots and report.html with Python's matplotlib; auto: if it is installed");
  command.add_flag(
      "--slides", options.slides,
      "Also writes slides.html, a sheet for each task with figure, table and facts, to "
      "complete and print");
}

}  // namespace

void add_report(CLI::App& app, Request& request) {
  CLI::App& command = add_command(
      app, "report", "Makes tables and findings of a scaling study's runs; needs no MPI and no GPU",
      "  rueda report study --out study/report\n"
      "  rueda report runs/one runs/two runs/four --purpose cost");
  auto& options = options_of<ReportOptions>(command, request);
  add_list(command, "RUN_DIR", options.places, "...",
           "Run directories of rueda train, or directories that hold some, up to five levels deep");
  add_list(
      command, "--keras-log", options.logs, "FILE[,...]",
      "Compares this output of Keras' fit() with the runs; facts that it lacks may follow, as in "
      "FILE,ranks=4: model=NAME, ranks=P, batch=GLOBAL, images=N, size=PIXELS, "
      "processor=cpu|gpu; may be repeated");
  add_words(command, "--published", options.published, {"book", "nyu", "all"},
            "Compares these published runs with the runs (docs/report.md)");
  add_text(
      command, "--check", options.check, "DIR",
      "Compares the CSV tables in DIR with what the runs give, and prints what differs by more "
      "than their rounding: exit code 0, or 1 if something differs");
  add_list(command, "--prediction", options.predictions, "FILE",
           "Shows this file of rueda predict --json with the runs; may be repeated");
  add_outputs(command, options);
  add_words(
      command, "--purpose", options.purpose, {"all", "time", "cost", "knee", "efficiency"},
      "Recommends a number of ranks by this: time: the shortest epoch; cost: the fewest device "
      "hours; knee: the maximum of speedup x efficiency; efficiency: the most ranks that keep "
      "--efficiency");
  add_number(command, "--efficiency", options.efficiency_percent, "PERCENT",
             "Minimum efficiency of the recommendation by efficiency");
}

void add_predict(CLI::App& app, Request& request) {
  CLI::App& command =
      add_command(app, "predict", "Predicts epochs on any number of ranks from runs; needs no MPI",
                  "  rueda predict runs/ --ranks 1,2,4,...,1024 --what-if bandwidth=2x\n"
                  "  rueda predict runs/ --cross-validate\n"
                  "  rueda predict --model resnet50v2 --compute 544ms --batch-per-rank 2048 \\\n"
                  "    --alpha 10us --bandwidth 100GB/s");
  auto& o = options_of<PredictOptions>(command, request);
  add_list(command, "RUN_DIR", o.runs, "...",
           "Fits the model to these runs: run directories, directories that hold some, or run.json "
           "files");
  add_list(command, "--bench", o.benches, "FILE",
           "Fits alpha and beta to this record of rueda bench all-reduce --json; may be repeated")
      ->allow_extra_args(false);
  add_text(command, "--json", o.json, "FILE", "Writes all tables to this file");
  add_text(command, "--extra-p", o.extra_p, "FILE",
           "Writes what the runs measured to this file, for Extra-P");
  add_text(command, "--out", o.out, "DIR",
           "Writes predict.md, predict.json and a CSV file of each table to this directory");
  command.option_defaults()->group("Scenario");
  add_scenario(command, o);
  command.option_defaults()->group("Machine");
  add_given(command, o);
  command.option_defaults()->group("Questions");
  command.add_flag("--simulate", o.simulate, "Simulates a noisy ring message by message");
  add_number(command, "--seed", o.seed, "N", "Seed of the noise, for --simulate");
  command.add_flag("--cross-validate", o.cross_validate,
                   "Fits to the runs on --fit-ranks and predicts the others");
  add_text(command, "--fit-ranks", o.fit_rank_words, "LIST",
           "Fits only to runs on these numbers of ranks [all; 1,2 with --cross-validate]");
  add_text(
      command, "--measured", o.measured, "LIST",
      "Explains the loss of epoch times that were measured elsewhere, given as 1:13.6s,4:5.4s");
  add_number(command, "--price", o.costs.per_rank_hour, "AMOUNT",
             "Price of a rank for an hour; adds the cost of an epoch");
  add_number(command, "--watts", o.costs.watts, "W",
             "Power that a rank draws; adds the energy of an epoch");
  add_text(command, "--efficiency", o.least_efficiency, "SHARE",
           "Answers up to how many ranks the efficiency stays at or above this");
}

}  // namespace rueda
