#pragma once

#include <csignal>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "predict/predict.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/train/config.hpp"
#include "study/report.hpp"

namespace rueda {

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
  /// H200, H100, A100 or "FLOP/s,bytes/s"; empty: no roofline.
  std::string roofline = {};
};

/// Bytes of "64GB", "1.5GiB", "800 MB": decimal or binary units. Throws InputError naming --memory.
std::size_t parse_memory(const std::string& text);

/// Throws InputError naming --classes.
void check_classes(int classes);

/// Throws InputError beyond the limits of training.
void validate(const SummaryOptions& options);

/// Prints the layers of a model with shapes, parameters and FLOPs, the totals,
/// and the memory that training takes of one rank, planned as training plans
/// it. Throws InputError for an unknown model or an image size that it does not
/// take.
void run_command(const SummaryOptions& options, std::ostream& out);

/// What a step of the CUDA backend takes on a GPU, by counting its passes over
/// memory: no GPU is needed. Throws InputError naming --roofline.
std::string roofline_text(const SummaryOptions& options);

/// The options of `rueda synth`.
struct SynthRequest {
  std::string out;
  Cifar10Format format = Cifar10Format::binary;
  SynthOptions drawing;
  bool overwrite = false;
};

/// Throws InputError for too few images, or too many.
void validate(const SynthRequest& request);

/// Draws a data set and writes it in the official file format, then prints one
/// line of what lies where. A directory that already holds the same data set is
/// left as it is; one that holds another is refused with InputError, or
/// replaced with `overwrite`.
void run_command(const SynthRequest& request, std::ostream& out);

/// A fault that tests put into the doctor's own run.
struct DoctorFault {
  const char* name;
  int signal;  ///< that it raises; 0: it stalls, or sends something wrong
};

inline constexpr DoctorFault kDoctorFaults[] = {
    {"crash-start", SIGSEGV},     // before MPI is initialised
    {"stall-start", 0},           // no end of the same step
    {"crash-transfer", SIGSEGV},  // an invalid address in the middle of the patterned transfer
    {"die-transfer", SIGKILL},    // a signal that no process can catch
    {"end-transfer", SIGTERM},    // the signal by which a launcher ends ranks
    {"stall-transfer", 0},        // a rank that never sends
    {"wrong-transfer", 0}};       // an element that came otherwise than it was sent

/// The options of `rueda doctor`.
struct DoctorOptions {
  std::string data;  ///< a data set to check; empty: none
  std::string json;  ///< file to write; empty: none
  BackendChoice backend = BackendChoice::automatic;
  bool allow_shared_gpu = false;
  int timeout = 60;           ///< seconds for a step
  std::string fault;          ///< KIND:RANK, as it was given
  std::string injected_kind;  ///< a name in kDoctorFaults; empty: none
  int injected_rank = 0;      ///< as the launcher counts
};

/// Reads `options.fault` and checks the rest; throws InputError naming the option.
void validate(DoctorOptions& options);

/// Examines machine, launch, MPI, GPUs and data on all processes of the run.
/// One of them, which speaks, prints a report and returns the exit code: 0 if
/// training would work, 1 if not. What may crash or hang runs in a process of
/// its own. The other processes return 0: no launcher then ends the one that
/// speaks.
int run_doctor(const DoctorOptions& options);

/// The options of `rueda evaluate`.
struct EvaluateOptions {
  /// Those that training has too. `resume` is a run or a checkpoint whose weights are meant.
  TrainConfig train;
  std::string predictions, json, plot;  ///< files to write; empty: none
};

inline void validate(const EvaluateOptions& options) { validate(options.train); }

/// Scores weights on the test images on all ranks. Rank 0 prints the tables and
/// writes the files. Returns the exit code.
int run_evaluate(const EvaluateOptions& options);

/// The options of `rueda report`.
struct ReportOptions {
  std::vector<std::string> places;   ///< run directories, directories of studies, run.json files
  std::string out;                   ///< empty: only the overview is printed
  std::string title;                 ///< empty: by what is reported
  std::string purpose = "all";       ///< one of Purpose's words, or all of them
  double efficiency_percent = 80;    ///< that Purpose::efficiency keeps
  FindingOptions findings;           ///< set by the two above
  std::vector<std::string> logs;     ///< FILE,model=..,ranks=..: of other frameworks
  std::string check;                 ///< tables to compare with the runs; empty: none
  std::string published;             ///< a set of published runs, or all; empty: none
  std::vector<std::string> layouts;  ///< of layout_names()
  std::string plots = "auto";        ///< "on", "off", or "auto": where there is matplotlib
  bool slides = false;
  std::vector<std::string> predictions;  ///< files of `rueda predict --json`
};

/// Checks options against each other and fills in `findings`. Throws InputError.
void validate(ReportOptions& options);

/// Reads the runs, prints an overview with the findings, and writes the report
/// to `out`. Throws InputError for what cannot be read, RunError for what
/// cannot be written.
void run_command(const ReportOptions& options, std::ostream& out);

/// The options of `rueda predict`.
struct PredictOptions {
  std::vector<std::string> runs;  ///< directories or files
  std::vector<std::string> benches;
  std::string rank_words = "1,2,4,...,64";
  std::string fit_rank_words;
  bool cross_validate = false;

  predict::Target target;
  std::size_t batch_per_rank = 0;
  std::size_t global_batch = 0;
  std::size_t images = 0;  ///< of an epoch
  predict::Scheme scheme = predict::Scheme::ring;
  Overlap overlap = Overlap::automatic;  ///< whether backward hides communication; else as the runs

  predict::Given given;
  std::string what_if;
  std::string measured;
  bool simulate = false;
  std::size_t seed = 1;

  predict::Price costs;
  std::string least_efficiency = "80%";
  std::string json, extra_p;  ///< files to write; empty: none
  std::string out;            ///< folder to write to; empty: none

  // Set by validate().
  std::vector<std::size_t> ranks, fit_ranks;
  std::vector<predict::Change> changes;
  std::vector<predict::MeasuredEpoch> epochs;
};

/// Reads the words and checks the rest; throws InputError naming the option.
void validate(PredictOptions& options);

/// Fits a cost model to runs and measurements, predicts with it, prints the
/// tables and writes the files that were asked for. Needs neither MPI nor a
/// device. Throws InputError.
void run_command(const PredictOptions& options, std::ostream& out);

/// The options of `rueda watch`.
struct WatchOptions {
  std::string run_directory;
  bool once = false;
  std::string json;     ///< file to write, "-": standard output; empty: none
  double interval = 1;  ///< seconds between screens
};

void validate(const WatchOptions& options);

/// Shows how far a run is, from the files of its directory alone: on a terminal
/// a screen that refreshes until the run ends, else one text. Throws InputError
/// where there is no status of a run.
void run_command(const WatchOptions& options, std::ostream& out);

/// Whether there is a Python with matplotlib: the one that RUEDA_PLOT_PYTHON
/// names, or else python3 in PATH or in /usr/bin.
bool plotter_available();

/// Throws InputError, which begins with `option` and ends with `otherwise`, if there is none.
void check_plotter(const std::string& option, const std::string& otherwise);

/// For a command's --plot FILE, which may be empty: refuses before the work what could not be drawn
/// after it. Throws InputError.
void check_plot(const std::string& script, const std::string& file);
/// Draws `json`, what --json writes, with jobs/<script>.py. Throws RunError naming the option.
void draw_plot(const std::string& script, const std::string& file, const std::string& json);

/// Runs jobs/<script>.py, which is part of the program, with these arguments
/// and `input` on its standard input. Returns what it printed. It ends with this
/// process. Throws InputError if there is no Python for it or the script refuses
/// its input (exit code 2), RunError for any other failure, both with what the
/// script said. Not while MPI is up: its libraries do not bear new processes well.
std::string run_plot_script(const std::string& script, const std::vector<std::string>& arguments,
                            const std::string& input = {});

}  // namespace rueda
