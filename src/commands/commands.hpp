#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "rueda/core/error.hpp"
#include "rueda/data/synth.hpp"
#include "rueda/study/report.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Throws InputError with `otherwise` unless `holds`.
inline void require(bool holds, const std::string& otherwise) {
  if (!holds) throw InputError(otherwise);
}

/// The options of `rueda summary`.
struct SummaryOptions {
  std::string model = "resnet20";
  int image_size = 32;
  int classes = 10;
  std::size_t batch_per_rank = 64;
  int ranks = 1;
  int threads = 0;  ///< 0: all cores that may be used
  BackendChoice backend = BackendChoice::automatic;
  Precision precision = Precision::fp32;
  Recompute recompute = Recompute::none;
  std::string memory = {};  ///< for example 64GB; empty: the largest batch is not looked for
};

/// Bytes of "64GB", "1.5GiB", "800 MB": decimal or binary units. Throws InputError naming --memory.
std::size_t parse_memory(const std::string& text);

/// Prints the layers of a model with shapes, parameters and FLOPs, the totals, and the memory that
/// training takes of one rank, planned as training plans it. Throws InputError for an unknown model
/// or an image size that it does not take.
void run_command(const SummaryOptions& options, std::ostream& out);

/// The options of `rueda synth`.
struct SynthRequest {
  std::string out;
  Cifar10Format format = Cifar10Format::binary;
  SynthOptions drawing;
  bool overwrite = false;
};

/// Draws a data set and writes it in the official file format, then prints one line of what lies
/// where. A directory that already holds the same data set is left as it is; one that holds another
/// is refused with InputError, or replaced with `overwrite`.
void run_command(const SynthRequest& request, std::ostream& out);

/// The options of `rueda report`.
struct ReportOptions {
  std::vector<std::string> places;  ///< run directories, directories of studies, run.json files
  std::string out;                  ///< empty: only the overview is printed
  std::string title = "Scaling study";
  std::string purpose = "all";       ///< one of Purpose's words, or all of them
  double efficiency_percent = 80;    ///< that Purpose::efficiency keeps
  FindingOptions findings;           ///< set by the two above
  std::vector<std::string> logs;     ///< FILE,model=..,ranks=..: of other frameworks
  std::string published;             ///< a set of published runs, or all; empty: none
  std::vector<std::string> layouts;  ///< "book", "nyu"
  std::string plots = "auto";        ///< "on", "off", or "auto": where there is matplotlib
  bool slides = false;
  std::vector<std::string> predictions;  ///< files of `rueda predict --json`
};

/// Checks options against each other and fills in `findings`. Throws InputError.
void validate(ReportOptions& options);

/// Reads the runs, prints an overview with the findings, and writes the report to `out`. Throws
/// InputError for what cannot be read, RunError for what cannot be written.
void run_command(const ReportOptions& options, std::ostream& out);

}  // namespace rueda
