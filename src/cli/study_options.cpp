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
  add_text(command, "--ranks", o.rank_words, "LIST", "Numbers of ranks to predict, up to 16384");
  add_model(command, o.target.model, "Network [that of the runs]");
  add_number(command, "--image-size", o.target.image_size, "PIXELS",
             "0 for that of the runs, or 32");
  add_number(command, "--batch-per-rank", o.batch_per_rank, "N",
             "Images of a rank in a step; 0 for that of the runs");
  add_number(command, "--global-batch", o.global_batch, "N",
             "Images of a step over all ranks instead");
  add_number(command, "--images", o.images, "N", "Of an epoch; 0 for those of the runs, or 50000");
  add_choice(command, "--algorithm", o.scheme,
             {Scheme::ring, Scheme::hierarchical, Scheme::doubling, Scheme::best},
             "How gradients are summed");
  add_choice(command, "--overlap", o.overlap, {Overlap::automatic, Overlap::on, Overlap::off},
             "Communication during backward; auto: as in the runs");
  add_number(command, "--bucket-mb", o.target.bucket_mb, "MB",
             "Buckets as training would cut them [as the runs had them, or 25]");
  add_number(command, "--ranks-per-node", o.target.ranks_per_node, "N",
             "Ranks joined by the links inside a node; 0: all links are of one kind");
  add_number(command, "--links-per-node", o.target.links_per_node, "N",
             "Messages of a node that go out at full speed at once");
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
  add_time("--alpha", o.given.alpha, "Of a message between nodes, instead of fitting it");
  add_rate("--bandwidth", o.given.bandwidth, "Between nodes, for example 10GB/s");
  add_time("--inside-alpha", o.given.inside_alpha, "Of a message within a node");
  add_rate("--inside-bandwidth", o.given.inside_bandwidth, "Within a node");
  add_rate("--add-rate", o.given.add_rate, "Bytes that a rank adds a second");
  add_time("--compute", o.given.step_seconds,
           "Of a step of --batch-per-rank images on one rank, instead of runs");
  add_time("--fixed", o.given.fixed, "Part of it that does not depend on the batch");
  add_amount(command, "--message-noise", o.given.message_noise, predict::parse_share, "SHARE",
             "Standard deviation of a message relative to its mean, for --simulate");
  add_text(command, "--what-if", o.what_if, "CHANGES",
           "Another machine: bandwidth, latency, inside-bandwidth, inside-latency, add-rate, "
           "compute-time, noise, each =2x or =VALUE, with commas");
}

void add_outputs(CLI::App& command, ReportOptions& options) {
  add_text(command, "--out", options.out, "DIR",
           "Writes report.md, report.json, tables/*.csv, plots and report.html there; without it "
           "the overview alone is printed");
  add_text(command, "--title", options.title, "TEXT", "Heading of the report");
  const std::vector<std::string> layouts = layout_names();
  add_list(command, "--layout", options.layouts, joined(layouts, "|"),
           "Writes the tables of a hand-in too, by the task numbers of its course: book (Torres, "
           "chapter 10), sa-miri (its course of 2025), lab5 (CC-MEI), nyu (lab on data "
           "parallelism); may be repeated")
      ->check(CLI::IsMember(layouts));
  add_words(command, "--plots", options.plots, {"auto", "on", "off"},
            "Draws plots and report.html with Python's matplotlib; auto: where there is one");
  command.add_flag("--slides", options.slides,
                   "Also slides.pdf: a page with figure, table and facts each");
}

}  // namespace

void add_report(CLI::App& app, Request& request) {
  CLI::App& command = add_command(
      app, "report", "Makes tables and findings of a scaling study's runs; needs no MPI and no GPU",
      "  rueda report study --out study/report\n"
      "  rueda report runs/one runs/two runs/four --purpose cost");
  auto& options = options_of<ReportOptions>(command, request);
  add_list(command, "RUN_DIR", options.places, "...",
           "Run directories of rueda train, or directories that hold some, five levels deep");
  add_list(command, "--keras-log", options.logs, "FILE[,...]",
           "Output of Keras' fit(), compared with the runs; what it lacks may follow, as in "
           "FILE,ranks=4: model=NAME, ranks=P, batch=GLOBAL, images=N, size=PIXELS, "
           "processor=cpu|gpu; may be repeated");
  add_words(command, "--published", options.published, {"book", "nyu", "all"},
            "Published runs, compared with the runs (docs/report.md)");
  add_text(
      command, "--check", options.check, "DIR",
      "Compares the CSV tables in DIR with what the runs give, and prints what differs by more "
      "than their rounding: exit code 0, or 1 if something differs");
  add_list(command, "--prediction", options.predictions, "FILE",
           "File of rueda predict --json, shown with the runs; may be repeated");
  add_outputs(command, options);
  add_words(command, "--purpose", options.purpose, {"all", "time", "cost", "knee", "efficiency"},
            "What ranks are recommended by: shortest epoch, fewest device hours, most speedup x "
            "efficiency, most ranks of at least --efficiency");
  add_number(command, "--efficiency", options.efficiency_percent, "PERCENT",
             "What the recommendation by efficiency keeps");
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
           "Directories of runs, or of several, or run.json files, to fit the model to");
  add_list(command, "--bench", o.benches, "FILE",
           "Record of rueda bench all-reduce --json, for alpha and beta; may be repeated")
      ->allow_extra_args(false);
  add_text(command, "--json", o.json, "FILE", "Writes all tables there");
  add_text(command, "--extra-p", o.extra_p, "FILE", "Writes what the runs measured, for Extra-P");
  add_text(command, "--out", o.out, "DIR", "Writes predict.md, predict.json and a CSV each there");
  command.option_defaults()->group("Scenario");
  add_scenario(command, o);
  command.option_defaults()->group("Machine");
  add_given(command, o);
  command.option_defaults()->group("Questions");
  command.add_flag("--simulate", o.simulate, "Follows each message of a noisy ring");
  add_number(command, "--seed", o.seed, "N", "Of the noise");
  command.add_flag("--cross-validate", o.cross_validate,
                   "Fits to the runs on --fit-ranks and predicts the others");
  add_text(command, "--fit-ranks", o.fit_rank_words, "LIST",
           "Fits only to runs on these numbers of ranks [all; 1,2 with --cross-validate]");
  add_text(command, "--measured", o.measured, "LIST",
           "Epoch times from elsewhere, as 1:13.6s,4:5.4s: what explains their loss");
  add_number(command, "--price", o.costs.per_rank_hour, "AMOUNT", "Of a rank for an hour");
  add_number(command, "--watts", o.costs.watts, "W", "That a rank takes");
  add_text(command, "--efficiency", o.least_efficiency, "SHARE",
           "Up to how many ranks is it at least this?");
}

}  // namespace rueda
