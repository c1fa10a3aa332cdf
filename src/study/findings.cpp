#include <ranges>
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
  const std::array scores = {-seconds, -ranks * seconds, -ranks * seconds * seconds,
                             enough ? ranks : -INFINITY};
  const double value = scores.at(std::size_t(purpose));
  return f.point->oversubscribed || std::isnan(value) ? -INFINITY : value;
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
      for (const RankResult& rank : run->ranks) threads.insert(rank.threads);
    }
  }
  return series.processor == Processor::cpu && threads.size() > 1;
}

template <typename Of>
struct Doubt {
  bool (*applies)(const Of&);
  const char* text;
};

constexpr std::array kPointDoubts = {
    Doubt<Point>{[](const Point& p) { return p.oversubscribed; },
                 "Some points ran more threads than there were cores. They are shown and marked, "
                 "and left out of fits and recommendations."},
    Doubt<Point>{
        [](const Point& p) { return p.includes_warm_up; },
        "Some runs have no epoch but the first of a process, so their times include warm-up."},
    Doubt<Point>{[](const Point& p) { return p.disturbed; },
                 "In some runs a rank got less than 85 % of the time of its cores, because other "
                 "programs, a quota or other virtual machines took it. They are marked as "
                 "disturbed: repeat them on cores of their own."},
    Doubt<Point>{is_single_run,
                 "Some points are single runs, so their figures have no range: repeat these runs "
                 "to see how far times differ."}};
constexpr std::array kSeriesDoubts = {
    Doubt<Series>{[](const Series& s) { return s.processor == Processor::timed; },
                  "Nothing was computed: ranks waited as long as forward and backward would take "
                  "(--backend timed). Only communication is real."},
    Doubt<Series>{threads_differ,
                  "The ranks did not all have the same number of threads, so the speedup compares "
                  "different resources. --threads fixes their number."}};

void add_doubts_about_figures(std::vector<Finding>& doubts, const StudyFigures& all) {
  for (const auto& [applies, text] : kPointDoubts) {
    const auto any_point = [is = applies](const SeriesFigures& series) {
      return std::ranges::any_of(series.series->points, is);
    };
    if (std::ranges::any_of(all, any_point)) doubts.push_back({"", text});
  }
  for (const auto& [applies, text] : kSeriesDoubts) {
    for (const SeriesFigures& series : all) {
      if (applies(*series.series)) doubts.push_back({series.series->label, text});
    }
  }
}

void add_doubts_about_files(std::vector<Finding>& doubts, const Study& study) {
  const std::size_t failed = study.failed.size() + study.empty_runs.size();
  if (failed > 0) {
    doubts.push_back(
        {"", counted(failed, "run") + " ended without an epoch; the table of runs says why."});
  }
  if (study.unreadable.empty()) return;
  const std::size_t count = study.unreadable.size();
  doubts.push_back(
      {"", fmt::format("{} could not be read and {} not in the figures: {}", counted(count, "file"),
                       count == 1 ? "is" : "are", study.unreadable.front().why)});
}

}  // namespace

const PointFigures* sweet_spot(const SeriesFigures& series, Purpose purpose, double efficiency) {
  const auto of = [&](const PointFigures& f) { return score(f, purpose, efficiency).value; };
  const auto best = std::ranges::max_element(series.points, {}, of);
  return of(*best) > -INFINITY ? &*best : nullptr;
}

std::vector<const PointFigures*> sweet_spots(const SeriesFigures& series, Purpose purpose,
                                             double efficiency) {
  const PointFigures* best = sweet_spot(series, purpose, efficiency);
  if (best == nullptr) return {};
  const auto of = [&](const PointFigures& f) { return score(f, purpose, efficiency); };
  const auto least_of = [&](const PointFigures& f) { return of(f).low; };
  const double certain = std::ranges::max(series.points | std::views::transform(least_of));
  std::vector<const PointFigures*> spots;
  for (const PointFigures& f : series.points) {
    const double most = of(f).high;
    if (&f == best || (most >= certain && most > of(*best).low)) spots.push_back(&f);
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
