#include <functional>
#include <numeric>

#include <fmt/ranges.h>

#include "rueda/core/text.hpp"
#include "rueda/display/text.hpp"
#include "rueda/study/report.hpp"

namespace rueda {
namespace {

/// A finding, or nothing where it does not apply.
using Sentence = std::optional<std::string>;

constexpr double kNothingLost = 0.98;  // of ideal: no cause is looked for
constexpr double kWorthNaming = 0.05;  // of the loss

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

/// Of a serial fraction, which noise may move out of its range.
std::string fraction_text(double share) {
  return share < 0 ? "below 0 %" : share > 1 ? "above 100 %" : percent(share);
}

std::string phase_name(std::size_t p) {
  return p == kAllReduce ? "waiting for the all-reduce" : std::string(kPhaseNames[p]);
}

std::string ranks_text(std::size_t ranks) { return counted(ranks, "rank"); }

/// `text` of the value, and of the range where it is not exact.
template <typename Text>
std::string with_range(const Estimate& e, const char* unit, Text text) {
  if (is_exact(e)) return text(e.value) + unit;
  return text(e.value) + unit + " (" + text(e.low) + " to " + text(e.high) + ")";
}

/// What the parts of a loss that are worth naming took, the largest first; `less`: those that took
/// less than ideal scaling.
Texts named_parts(const Losses& loss, bool less = false) {
  std::multimap<double, std::string, std::greater<>> parts;
  for (std::size_t p = 0; p < kPhases; ++p) parts.emplace(loss.phases[p], phase_name(p));
  parts.emplace(loss.rest, "uneven ranks and time between steps");
  Texts named;
  for (const auto& [seconds, name] : parts) {
    const double share = (less ? -seconds : seconds) / loss.lost;
    if (share < kWorthNaming) continue;
    // Where parts make up for others, these are more than the whole.
    const std::string of_loss = less || share > 1 ? "" : " (" + percent(share) + ")";
    named.push_back(name + " " + seconds_text(std::abs(seconds)) + " s" + of_loss);
  }
  return named;
}

std::string joined(const Texts& words) {
  if (words.size() == 1) return words[0];
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

std::string reason_of(Purpose purpose, double efficiency) {
  constexpr std::array kReasons = {"for the shortest epoch", "for the fewest device hours",
                                   "for the best balance (most speedup x efficiency)"};
  const auto index = std::size_t(purpose);
  if (index < kReasons.size()) return kReasons.at(index);
  return "as the most that keep an efficiency of " + percent(efficiency);
}

/// A coarser time cannot be compared with whole seconds.
bool finer_than_seconds(const Estimate& seconds) { return seconds.high - seconds.low < 0.5; }

/// The widest point that had a core for every thread.
const PointFigures* widest(const SeriesFigures& series) {
  const PointFigures* found = nullptr;
  for (const PointFigures& f : series.points) {
    const bool counts = !f.point->oversubscribed && known(f.point->epoch);
    if (counts && !f.of_fewest_ranks()) found = &f;
  }
  return found;
}

Sentence how_far_it_scales(const SeriesFigures& series, const PointFigures& f) {
  const Point& base = *series.points.front().point;
  const auto range = [](const Estimate& e) { return with_range(e, " s", seconds_text); };
  const bool weak = series.series->scaling == Scaling::weak;
  return fmt::format(
      "{} take {} for an epoch where {} {} {}: speedup {:.2f}, efficiency {}, with the {} fixed "
      "({} scaling){}.",
      ranks_text(f.ranks()), range(f.point->epoch), ranks_text(base.ranks),
      base.ranks == 1 ? "takes" : "take", range(base.epoch), f.epoch_view.speedup.value,
      with_range(f.epoch_view.efficiency, "", percent),
      weak ? "batch of each rank" : "global batch", to_string(series.series->scaling),
      is_single_run(base) || is_single_run(*f.point) ? ", from single runs" : "");
}

Sentence which_factor_costs_most(const SeriesFigures&, const PointFigures& f) {
  const EfficiencyFactors& e = f.factors;
  if (!(e.back() < kNothingLost)) return {};
  const auto least = std::size_t(std::min_element(e.begin() + 1, e.end() - 1) - e.begin());
  return fmt::format("At {} {} of the global efficiency is lost, most by {} ({:.2f}).",
                     ranks_text(f.ranks()), percent(1 - e.back()), kFactors.at(least).second,
                     e.at(least));
}

Sentence what_the_loss_is(const SeriesFigures&, const PointFigures& f) {
  if (!f.losses || f.epoch_view.efficiency.value >= kNothingLost) return {};
  const Losses& loss = *f.losses;
  const Texts named = named_parts(loss);
  if (named.empty()) return {};
  std::string text =
      fmt::format("Compared with ideal scaling {} lose {} s an epoch. {} {}.",
                  ranks_text(f.ranks()), seconds_text(loss.lost),
                  named.size() == 1 ? "The cause is" : "The causes are", joined(named));
  if (const Texts less = named_parts(loss, true); !less.empty())
    text += " Less than with ideal scaling took " + joined(less) + ".";
  const double exposed = loss.phases[kAllReduce];
  if (loss.waiting / exposed >= 0.5 && exposed / loss.lost >= kWorthNaming) {
    text += " Most of the wait for the all-reduce (" + percent(loss.waiting / exposed) +
            ") is waiting for ranks that came later, not transfer.";
  }
  return text;
}

Sentence what_grows(const SeriesFigures& series, const PointFigures& f) {
  const PointFigures& base = series.points.front();
  if (f.run == nullptr || base.run == nullptr) return {};
  if (series.series->scaling != Scaling::weak) return {};
  std::size_t most = 0;
  const auto growth = [&](std::size_t p) { return f.step_phases[p] - base.step_phases[p]; };
  for (std::size_t p = 0; p < kPhases; ++p) {
    if (growth(p) > growth(most)) most = p;
  }
  const auto whole_step = [](const PointFigures& figures) {
    return std::accumulate(figures.step_phases.begin(), figures.step_phases.end(), 0.0);
  };
  const double before = whole_step(base);
  if (!(growth(most) > (1 - kNothingLost) * before)) return {};
  return fmt::format(
      "A mean full step, of the same images per rank, goes from {:.1f} to {:.1f} ms between {} and "
      "{}; the phase that grows most is {} ({:.1f} to {:.1f} ms).",
      before * 1e3, whole_step(f) * 1e3, ranks_text(base.point->ranks), ranks_text(f.ranks()),
      phase_name(most), base.step_phases[most] * 1e3, f.step_phases[most] * 1e3);
}

Sentence how_communication_shares(const SeriesFigures&, const PointFigures& f) {
  if (std::isnan(f.communication.busy)) return {};
  const CommunicationFigures& c = f.communication;
  const std::string inferred =
      c.inferred < 0 ? "no time by subtraction, because the epoch is shorter than an ideal one,"
                     : seconds_text(c.inferred) + " s of an epoch by subtraction";
  std::string text = fmt::format(
      "Communication on {} takes {} and {} s as measured in the all-reduce; steps waited {} s for "
      "it",
      ranks_text(f.ranks()), inferred, seconds_text(c.busy), seconds_text(c.exposed));
  if (c.busy > c.exposed && c.busy > 0)
    text += " (" + percent(1 - c.exposed / c.busy) + " hidden behind the backward pass)";
  if (c.exposed > 0 && c.inferred > 2 * c.exposed &&
      c.inferred > (1 - kNothingLost) * f.point->epoch.value) {
    text += fmt::format(". Subtraction would blame the network for {:.1f} times that wait",
                        c.inferred / c.exposed);
  }
  return text + ".";
}

Sentence what_steps_say(const SeriesFigures&, const PointFigures& f) {
  if (!known(f.step_view.efficiency) || f.run == nullptr) return {};
  const Estimate& epoch = f.epoch_view.efficiency;
  const Estimate& step = f.step_view.efficiency;
  const bool overlap = epoch.high >= step.low && step.high >= epoch.low;
  if (overlap || std::abs(step.value - epoch.value) < 1 - kNothingLost) return {};
  const EpochParts parts = epoch_parts(f);
  if (parts.slow_steps < 0 || parts.partial < 0) return {};  // quick steps made up for slow ones
  const std::string partial =
      parts.partial_images == 0
          ? ""
          : fmt::format("the partial last step ({} images, {} s by their number) and to ",
                        parts.partial_images, seconds_text(parts.partial_by_images));
  return fmt::format(
      "The median full step alone scales to {} on {}, the epoch to {}. Of an epoch, {} s go to "
      "steps that took longer than the median, and {} s to {}the time between steps.",
      percent(step.value), ranks_text(f.ranks()), percent(epoch.value),
      seconds_text(parts.slow_steps), seconds_text(parts.partial), partial);
}

/// `kept`: the efficiency that somebody wants to keep. A conclusion is on which side of it, and of
/// ideal scaling, the efficiency lies.
Sentence what_rounding_would_hide(const SeriesFigures& series, const PointFigures& f, double kept) {
  const Point& base = *series.points.front().point;
  if (!finer_than_seconds(base.epoch) || !finer_than_seconds(f.point->epoch)) return {};
  const double before = std::round(base.epoch.value);
  const double after = std::round(f.point->epoch.value);
  const double share = double(base.ranks) / double(f.ranks());
  if (after < 1) {
    return fmt::format(
        "A log in whole seconds would show {:.0f} s and {:.0f} s, and no efficiency could be "
        "computed from it.",
        before, after);
  }
  const double rounded = before / after * share;
  const double exact = f.epoch_view.efficiency.value;
  const double least = (before - 0.5) / (after + 0.5) * share;
  const double most = (before + 0.5) / (after - 0.5) * share;
  std::string effect = "would not have changed the conclusion";
  for (const double bound : {kNothingLost, kept})
    if ((rounded >= bound) != (exact >= bound))
      effect = fmt::format("would have changed the conclusion, as it is {} {}",
                           exact < bound ? "below" : "not below", percent(bound));
  return fmt::format(
      "A log in whole seconds would show {:.0f} s and {:.0f} s, hence {} (anything from {} to {}) "
      "instead of {}: rounding {}.",
      before, after, percent(rounded), percent(least), percent(most), percent(exact), effect);
}

Sentence how_serial_it_is(const SeriesFigures& series) {
  const auto fit = amdahl_fraction(*series.series);
  if (!fit) return {};
  const Estimate& s = *fit;
  if (s.value <= 0 || s.value >= 1)
    return s.value <= 0 ? "Amdahl's fit finds nothing serial: the speedup is ideal or better."
                        : "Amdahl's law does not fit: epochs are not shorter on more ranks.";
  const std::string text =
      fmt::format("Amdahl's fit has a serial fraction of {}, a limit of {:.1f} for the speedup",
                  with_range(s, "", fraction_text), 1 / s.value);
  std::vector<double> flatt;
  for (const PointFigures& f : series.points) {
    if (!f.point->oversubscribed && std::isfinite(f.karp_flatt)) flatt.push_back(f.karp_flatt);
  }
  if (flatt.size() < 2) return text + " (from two points only).";
  const bool grows = flatt.back() > 1.2 * flatt.front() && flatt.back() - flatt.front() > 0.005;
  return text + fmt::format("; by Karp and Flatt it goes from {} to {}: {}.",
                            fraction_text(flatt.front()), fraction_text(flatt.back()),
                            grows ? "the loss is overhead that grows with P"
                                  : "no overhead that grows with P");
}

Sentence what_to_choose(const SeriesFigures& series, const FindingOptions& options) {
  if (series.points.size() < 2) return {};
  Texts choices;
  for (const Purpose purpose : options.purposes) {
    if (const PointFigures* f = sweet_spot(series, purpose, options.efficiency))
      choices.push_back(ranks_text(f->ranks()) + " " + reason_of(purpose, options.efficiency));
  }
  if (choices.empty()) return {};
  return "Of the numbers of ranks that were run, take " + joined(choices) + ".";
}

}  // namespace

Texts sentences(const SeriesFigures& series, const FindingOptions& options) {
  Texts all;
  const auto add = [&](const Sentence& sentence) {
    if (sentence) all.push_back(*sentence);
  };
  if (const PointFigures* f = widest(series)) {
    for (const auto& sentence : {how_far_it_scales, which_factor_costs_most, what_the_loss_is,
                                 what_grows, how_communication_shares, what_steps_say})
      add(sentence(series, *f));
    add(what_rounding_would_hide(series, *f, options.efficiency));
    add(how_serial_it_is(series));
  }
  add(what_to_choose(series, options));
  return all;
}

}  // namespace rueda
