#include "command_options.hpp"
#include "option_helpers.hpp"

namespace rueda {
namespace {

void add_sources(CLI::App& command, ReportOptions& options) {
  command
      .add_option("RUN_DIR", options.places,
                  "Run directories of rueda train, or directories that hold some, five levels deep")
      ->option_text("...");
  command
      .add_option(
          "--keras-log", options.logs,
          "Output of Keras' fit(), shown next to the runs; add what it does not say: "
          "FILE,model=NAME,ranks=P,batch=GLOBAL,images=N,size=PIXELS,processor=cpu|gpu; may be "
          "repeated")
      ->option_text("FILE[,...]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_words(command, "--published", options.published, {"book", "nyu", "all"},
            "Published runs to show next to these (docs/published.md)");
  command
      .add_option("--prediction", options.predictions,
                  "File of rueda predict --json, shown next to the runs; may be repeated")
      ->option_text("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_outputs(CLI::App& command, ReportOptions& options) {
  add_text(
      command, "--out", options.out, "DIR",
      "Writes report.md, report.json, tables/*.csv, plots and report.html there; without it the "
      "overview alone is printed");
  add_text(command, "--title", options.title, "TEXT", "Heading of the report");
  command
      .add_option(
          "--layout", options.layouts,
          "Writes the tables of a hand-in too: book (Torres, chapter 10), nyu (homework on data "
          "parallelism); may be repeated")
      ->option_text("book|nyu")
      ->check(CLI::IsMember({"book", "nyu"}))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_words(command, "--plots", options.plots, {"auto", "on", "off"},
            "Draws plots and report.html with Python's matplotlib; auto: where there is one");
  command.add_flag("--slides", options.slides,
                   "Also slides.pdf: a page with figure, table and facts each");
}

void add_choices(CLI::App& command, ReportOptions& options) {
  add_words(
      command, "--purpose", options.purpose, {"all", "time", "cost", "knee", "efficiency"},
      "How to recommend a number of ranks: shortest epoch, fewest device hours, most speedup x "
      "efficiency, most ranks of at least --efficiency");
  add_number(command, "--efficiency", options.efficiency_percent, "PERCENT",
             "Least efficiency for --purpose efficiency");
}

}  // namespace

void add_report_options(CLI::App& command, ReportOptions& options) {
  add_sources(command, options);
  add_outputs(command, options);
  add_choices(command, options);
}

}  // namespace rueda
