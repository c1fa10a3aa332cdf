#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "display/text.hpp"
#include "study/report.hpp"

namespace rueda {
namespace {

/// How good a point is for a purpose by an epoch of these seconds with this efficiency: larger is
/// better; the least where it is none to choose. Speedup x efficiency is larger where P T^2 is
/// smaller, whatever the base.
double score(const PointFigures& f, Purpose purpose, double seconds, bool enough) {
  const auto ranks = double(f.ranks());
  if (f.point->oversubscribed) return -INFINITY;
  if (purpose == Purpose::efficiency) return enough ? ranks : -INFINITY;
  if (std::isnan(seconds)) return -INFINITY;
  const std::array scores = {-seconds, -ranks * seconds, -ranks * seconds * seconds};
  return scores.at(std::size_t(purpose));
}

/// With what the repeats leave of it.
Estimate score(const PointFigures& f, Purpose purpose, double efficiency) {
  constexpr double kTies = 1e-9;
  const Estimate& each = f.epoch_view.efficiency;
  const Estimate& epoch = f.point->epoch;
  const double least = efficiency - kTies;
  return {score(f, purpose, epoch.value, each.value >= least),
          score(f, purpose, epoch.high, each.low >= least),
          score(f, purpose, epoch.low, each.high >= least)};
}

bool threads_differ(const Series& series) {
  std::set<double> threads;
  for (const Point& point : series.points) {
    for (const RunResult* run : point.runs) {
      for (const RankInfo& rank : run->ranks) threads.insert(rank.threads);
    }
  }
  return series.processor == Processor::cpu && threads.size() > 1;
}

bool is_timed(const Series& series) { return series.processor == Processor::timed; }

/// What applies to some points.
struct PointDoubt {
  bool Observation::*applies;
  const char* text;
};
constexpr std::array kPointDoubts = {
    PointDoubt{&Observation::oversubscribed,
               "Some points ran more threads than there were cores. They are shown and marked, "
               "and left out of fits and recommendations."},
    PointDoubt{
        &Observation::includes_warm_up,
        "Some runs have no epoch but the first of a process, so their times include warm-up."},
    PointDoubt{&Observation::disturbed,
               "In some runs a rank got less than 85 % of the time of its cores, because other "
               "programs, a quota or other virtual machines took it. They are marked as "
               "disturbed: repeat them on cores of their own."}};
constexpr const char* kSingleRuns =
    "Some points are single runs, so their figures have no range: repeat these runs to see how far "
    "times differ.";

struct SeriesDoubt {
  bool (*applies)(const Series&);
  const char* text;
};
constexpr std::array kSeriesDoubts = {
    SeriesDoubt{is_timed,
                "Nothing was computed: ranks waited for the time of forward and backward "
                "(--backend timed). Only communication is real."},
    SeriesDoubt{threads_differ,
                "The ranks did not all have the same number of threads, so the speedup compares "
                "different resources. --threads fixes their number."}};

/// Whether a member or a function of a point is true for any of them.
template <typename Is>
bool any_point(const StudyFigures& all, Is is) {
  for (const SeriesFigures& series : all)
    if (std::ranges::any_of(series.series->points, is)) return true;
  return false;
}

void add_doubts_about_figures(std::vector<Finding>& doubts, const StudyFigures& all) {
  for (const auto& [applies, text] : kPointDoubts)
    if (any_point(all, applies)) doubts.push_back({"", text});
  if (any_point(all, is_single_run)) doubts.push_back({"", kSingleRuns});
  for (const auto& [applies, text] : kSeriesDoubts) {
    for (const SeriesFigures& series : all) {
      if (applies(*series.series)) doubts.push_back({series.series->label, text});
    }
  }
}

void add_doubts_about_files(std::vector<Finding>& doubts, const Study& study) {
  const std::size_t failed = study.failed.size() + study.empty_runs.size();
  if (failed > 0) {
    doubts.push_back({"", counted(failed, "run") +
                              " ended without an epoch; the table of runs has the reasons."});
  }
  if (study.unreadable.empty()) return;
  const std::size_t count = study.unreadable.size();
  const char* are = count == 1 ? "is" : "are";
  doubts.push_back({"", fmt::format("{} could not be read and {} not in the figures: {}",
                                    counted(count, "file"), are, study.unreadable.front().why)});
}

}  // namespace

const PointFigures* sweet_spot(const SeriesFigures& series, Purpose purpose, double efficiency) {
  const PointFigures* best = nullptr;
  double most = -INFINITY;
  for (const PointFigures& f : series.points) {
    const double value = score(f, purpose, efficiency).value;
    if (value <= most) continue;
    most = value;
    best = &f;
  }
  return best;
}

std::vector<const PointFigures*> sweet_spots(const SeriesFigures& series, Purpose purpose,
                                             double efficiency) {
  const PointFigures* best = sweet_spot(series, purpose, efficiency);
  if (best == nullptr) return {};
  double certain = -INFINITY;  // what one of the points has at least
  for (const PointFigures& f : series.points)
    certain = std::max(certain, score(f, purpose, efficiency).low);
  const double least = score(*best, purpose, efficiency).low;
  std::vector<const PointFigures*> spots;
  for (const PointFigures& f : series.points) {
    const double most = score(f, purpose, efficiency).high;
    if (&f == best || (most >= certain && most > least)) spots.push_back(&f);
  }
  return spots;
}

std::vector<Finding> findings(const Study& study, const StudyFigures& all,
                              const FindingOptions& options) {
  std::vector<Finding> found;
  for (const SeriesFigures& series : all) {
    for (const std::string& sentence : sentences(series, options))
      found.push_back({series.series->label, sentence});
  }
  add_doubts_about_figures(found, all);
  add_doubts_about_files(found, study);
  return found;
}

}  // namespace rueda
