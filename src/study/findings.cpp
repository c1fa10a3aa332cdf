#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "rueda/display/number_text.hpp"
#include "sentences.hpp"

namespace rueda {
namespace {

constexpr double kTies = 1e-9;

/// Larger is better.
double score(const PointFigures& f, Purpose purpose, double efficiency) {
  const double speedup = f.epoch_view.speedup.value;
  const double each = f.epoch_view.efficiency.value;
  switch (purpose) {
    case Purpose::time:
      return -f.point->epoch.value;
    case Purpose::cost:
      return -f.device_seconds;
    case Purpose::knee:
      return speedup * each;
    case Purpose::efficiency:
      return each >= efficiency - kTies ? double(f.point->ranks) : kUnknown;
  }
  return kUnknown;
}

void add_series(std::vector<Finding>& all, const SeriesFigures& series,
                const FindingOptions& options) {
  const auto add = [&](const Sentence& sentence) {
    if (sentence) all.push_back({series.series->label, *sentence});
  };
  for (const auto& sentence :
       {how_far_it_scales, what_the_loss_is, what_grows, how_communication_shares, what_steps_say,
        what_rounding_would_hide, how_serial_it_is}) {
    add(sentence(series));
  }
  add(what_to_choose(series, options));
}

bool any_point(const std::vector<SeriesFigures>& all, bool (*is)(const Point&)) {
  return std::ranges::any_of(all, [&](const SeriesFigures& series) {
    return std::ranges::any_of(series.points, [&](const PointFigures& f) { return is(*f.point); });
  });
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

bool is_timed(const Series& series) { return series.processor == Processor::timed; }

struct PointDoubt {
  bool (*applies)(const Point&);
  const char* text;
};

struct SeriesDoubt {
  bool (*applies)(const Series&);
  const char* text;
};

void add_doubts_about_points(std::vector<Finding>& doubts, const std::vector<SeriesFigures>& all) {
  static constexpr std::array kOfPoints = {
      PointDoubt{[](const Point& p) { return p.oversubscribed; },
                 "Some points ran more threads than there were cores. They are shown and marked, "
                 "and left out of fits and recommendations."},
      PointDoubt{[](const Point& p) { return p.includes_warm_up; },
                 "Some runs had one epoch only, so their times include warm-up."},
      PointDoubt{[](const Point& p) { return p.repeats == 1 && !p.runs.empty(); },
                 "Some points are single runs, so their figures have no range: repeat these runs "
                 "to see how far times differ."}};
  static constexpr std::array kOfSeries = {
      SeriesDoubt{is_timed,
                  "Nothing was computed: ranks waited as long as forward and backward would take "
                  "(--backend timed). Only communication is real."},
      SeriesDoubt{threads_differ,
                  "The ranks did not all have the same number of threads, so the speedup compares "
                  "different resources. --threads fixes their number."}};
  for (const auto& [applies, text] : kOfPoints) {
    if (any_point(all, applies)) doubts.push_back({"", text});
  }
  for (const auto& [applies, text] : kOfSeries) {
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
  doubts.push_back({"", counted(count, "file") + " could not be read and " +
                            (count == 1 ? "is" : "are") +
                            " not in the figures: " + study.unreadable.front().why});
}

}  // namespace

const char* to_string(Purpose purpose) {
  constexpr std::array kWords = {"time", "cost", "knee", "efficiency"};
  return kWords.at(static_cast<std::size_t>(purpose));
}

const PointFigures* sweet_spot(const SeriesFigures& series, Purpose purpose, double efficiency) {
  const PointFigures* best = nullptr;
  double most = -INFINITY;
  for (const PointFigures& f : series.points) {
    if (f.point->oversubscribed) continue;
    const double value = score(f, purpose, efficiency);
    if (!(value > most)) continue;
    most = value;
    best = &f;
  }
  return best;
}

std::vector<Finding> findings(const Study& study, const std::vector<SeriesFigures>& all,
                              const FindingOptions& options) {
  std::vector<Finding> found;
  for (const SeriesFigures& series : all) add_series(found, series, options);
  add_doubts_about_points(found, all);
  add_doubts_about_files(found, study);
  return found;
}

}  // namespace rueda
