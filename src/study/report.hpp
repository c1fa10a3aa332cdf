#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/comparison.hpp"
#include "study/figures.hpp"
#include "study/study.hpp"
#include "study/table.hpp"

namespace rueda {

/// What a number of ranks is recommended for.
enum class Purpose {
  time,       ///< the shortest epoch
  cost,       ///< the fewest device hours
  knee,       ///< most speedup x efficiency (Eager, Zahorjan, Lazowska, IEEE ToC 38(3), 1989)
  efficiency  ///< the most ranks that keep a given efficiency
};

constexpr auto words_of(Purpose) { return std::array{"time", "cost", "knee", "efficiency"}; }

struct FindingOptions {
  std::vector<Purpose> purposes = {Purpose::time, Purpose::cost, Purpose::knee,
                                   Purpose::efficiency};
  double efficiency = 0.8;  ///< share that Purpose::efficiency keeps
};

struct Finding {
  std::string about;  ///< label of a series; empty: the study as a whole
  std::string text;   ///< one or more sentences
};

/// The point to choose for a purpose, in the epoch view; null if none will do.
/// Oversubscribed points are not recommended.
const PointFigures* sweet_spot(const SeriesFigures& series, Purpose purpose, double efficiency);

/// That point and those that repeats do not tell from it, P ascending; none if none will do.
std::vector<const PointFigures*> sweet_spots(const SeriesFigures& series, Purpose purpose,
                                             double efficiency);

/// Sentences about a series with their figures, in order: how far it scales,
/// the causes of the loss, the share of communication, what whole seconds would
/// have hidden, the recommendation.
Texts sentences(const SeriesFigures& series, const FindingOptions& options);

/// The sentences about every series, then doubts about the study.
std::vector<Finding> findings(const Study& study, const StudyFigures& all,
                              const FindingOptions& options);

/// The tables of a report, each with the definitions of its figures below it;
/// those without a row are left out. docs/report.md shows them.
Tables study_tables(const Study& study, const StudyFigures& all);

/// The shortest answer, narrow enough for a terminal.
Table overview_table(const StudyFigures& all);

/// One processor against another at P = 1: acceleration, not scaling. A row for
/// every two sources or kinds of processor that trained the same model, image
/// size, batch and number of images; the slower one first. Ratios of first and
/// of steady epochs with what rounding leaves, and those of steady epochs as a
/// log prints them. No rows where there is no such pair.
Table acceleration_table(const Observations& observations);

/// The hand-ins that layout_tables knows, in the order in which help lists them.
std::vector<std::string> layout_names();

/// The tables that a course asks for, by the numbers of its tasks. Only facts: the judgement is the
/// student's. A table without a row is left out. `layout` is one of layout_names(). docs/report.md
/// lists the tables.
///
/// `book`, `sa-miri` and `lab5` number the same tables differently: a CPU as baseline, its
/// acceleration by a GPU, a table for each series, all series side by side. Ids are
/// book_task_10_3, sa_miri_task_10_9_speedup, lab5_task_6_ID with the id of the series.
///
/// `nyu` has question 1 (an epoch on one device by its batch), tables 1 to 3 (time and speedup,
/// computing and communication, bandwidth) and question 4 (the fifth epoch). With T(P) the time
/// of an epoch on P ranks and C the time of an epoch on one without loading of data, on P ranks
/// compute = C / P and communication = T(P) - C / P; bandwidth = 2 (P-1)/P x bytes of a gradient x
/// steps / communication, what a ring all-reduce sends in that time (Patarasuk and Yuan, JPDC
/// 69(2), 2009). Batches and ranks that were not run leave cells empty.
Tables layout_tables(const std::string& layout, const StudyFigures& all,
                     const Observations& observations);

/// `schema_version` of report.json: raised when a field changes its meaning or goes.
inline constexpr int kReportSchemaVersion = 2;

/// Everything that a report says, in no form yet.
struct Report {
  std::string title = {};
  std::string made_with;  ///< program and version
  StudyFigures series = {};
  Tables tables = {};
  std::vector<Finding> findings = {};
  std::map<std::string, Tables> layouts = {};  ///< hand-ins by name
  /// Those that stand for the points of the series, each once.
  std::vector<const RunResult*> runs = {};
  std::optional<Comparison> comparison = {};
  Texts predictions = {};  ///< JSON texts of `rueda predict --json`, checked
};

/// The run of each point, each once.
std::vector<const RunResult*> runs_shown(const StudyFigures& all);

/// Grouped by what they are about, for report.md or for a terminal.
std::string findings_text(const std::vector<Finding>& findings, bool markdown);

/// Writes report.json (docs/report.md: numbers unrounded, unknown ones null),
/// report.md (findings, then the tables), tables/ID.csv, and for each layout
/// NAME.md and NAME/ID.csv into `folder`, which is made if need be. Each file
/// is written in one go. Throws RunError.
void write_report(const std::filesystem::path& folder, const Report& report);

}  // namespace rueda
