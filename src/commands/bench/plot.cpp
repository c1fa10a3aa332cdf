#include "plot.hpp"

#include "commands/plotter.hpp"
#include "rueda/core/error.hpp"

namespace rueda::bench {

void check_plotter() {
  rueda::check_plotter("--plot", "write --json and draw elsewhere with jobs/plot_all_reduce.py");
}

void plot_record(const std::string& json, const std::string& file) {
  try {
    run_plot_script("plot_all_reduce", {file}, json);
  } catch (const Error& error) {
    throw RunError("--plot " + file + ": it could not be drawn: " + error.what());
  }
}

}  // namespace rueda::bench
