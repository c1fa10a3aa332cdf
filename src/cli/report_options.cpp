#include "report_options.hpp"

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
          "What Keras' fit() printed, put beside the runs; what it does not tell may be added: "
          "FILE,model=NAME,ranks=P,batch=GLOBAL,images=N,size=PIXELS,processor=cpu|gpu; may be "
          "repeated")
      ->option_text("FILE[,...]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_words(command, "--published", {"book", "nyu", "all"}, options.published,
            "Runs that others published, put beside the runs (docs/report.md)",
            [&options](const std::string& word) { options.published = word; });
  command
      .add_option("--prediction", options.predictions,
                  "File of rueda predict --json, to be put beside the runs; may be repeated")
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
  add_words(command, "--plots", {"auto", "on", "off"}, options.plots,
            "Draws plots and report.html with Python's matplotlib; auto: where there is one",
            [&options](const std::string& word) { options.plots = word; });
  command.add_flag("--slides", options.slides,
                   "Also slides.pdf: a page with figure, table and facts each");
}

void add_choices(CLI::App& command, ReportOptions& options) {
  add_words(command, "--purpose", {"all", "time", "cost", "knee", "efficiency"}, options.purpose,
            "What ranks are recommended by: shortest epoch, fewest device hours, most speedup x "
            "efficiency, most ranks of at least --efficiency",
            [&options](const std::string& word) { options.purpose = word; });
  add_number(command, "--efficiency", options.efficiency_percent, "PERCENT",
             "What the recommendation by efficiency keeps");
}

}  // namespace

void add_report_options(CLI::App& command, ReportOptions& options) {
  add_sources(command, options);
  add_outputs(command, options);
  add_choices(command, options);
}

}  // namespace rueda
