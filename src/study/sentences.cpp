#include "base/text.hpp"
#include "study/sentence.hpp"

namespace rueda {
namespace {

/// `text` of the value, and of the range where it is not exact.
std::string with_range(const Estimate& e, const char* unit, std::string (*text)(double)) {
  if (is_exact(e)) return text(e.value) + unit;
  return text(e.value) + unit + " (" + text(e.low) + " to " + text(e.high) + ")";
}

std::string reason_of(Purpose purpose, double efficiency) {
  constexpr std::array kReasons = {"for the shortest epoch", "for the fewest device hours",
                                   "for the best balance (maximum of speedup x efficiency)"};
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
  const Scaling scaling = series.series->scaling;
  const char* fixed = scaling == Scaling::weak ? "batch of each rank" : "global batch";
  const char* take = base.ranks == 1 ? "takes" : "take";
  std::string text = fmt::format(
      "{} take {} for an epoch where {} {} {}: speedup {:.2f}, efficiency {}, with the {} fixed "
      "({} scaling)",
      rank_words(f.ranks()), with_range(f.point->epoch, " s", seconds_text), rank_words(base.ranks),
      take, with_range(base.epoch, " s", seconds_text), f.epoch_view.speedup.value,
      with_range(f.epoch_view.efficiency, "", percent), fixed, to_string(scaling));
  if (is_single_run(base) || is_single_run(*f.point)) text += ", from single runs";
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
  std::string partial;
  if (parts.partial_images > 0) {
    partial = fmt::format("the partial last step ({} images, {} s by their number) and to ",
                          parts.partial_images, seconds_text(parts.partial_by_images));
  }
  return fmt::format(
      "The median full step alone scales to {} on {}, the epoch to {}. Of an epoch, {} s go to "
      "steps that took longer than the median, and {} s to {}the time between steps.",
      percent(step.value), rank_words(f.ranks()), percent(epoch.value),
      seconds_text(parts.slow_steps), seconds_text(parts.partial), partial);
}

bool is_open(const Estimate& e, double bound) { return e.low < bound && e.high >= bound; }

/// A conclusion is on which side of a bound the efficiency lies. A range on both sides has none.
std::string effect_of_rounding(const Estimate& rounded, const Estimate& exact, double kept) {
  std::string open;
  for (const double bound : {kNothingLost, kept}) {
    const std::string side = "below " + percent(bound);
    const bool changed = (rounded.value >= bound) != (exact.value >= bound);
    if (is_open(exact, bound)) {
      open = "repeats leave open whether it is " + side + ", with rounding or without";
    } else if (changed && exact.value < bound) {
      return "rounding would have changed the conclusion, as it is " + side;
    } else if (changed) {
      return "rounding would have changed the conclusion, as it is not " + side;
    } else if (is_open(rounded, bound) && open.empty()) {
      open = "the log would leave open whether it is " + side;
    }
  }
  if (open.empty()) return "rounding would not have changed the conclusion";
  return open;
}

/// `kept`: the efficiency that somebody wants to keep. Conclusions are about it and
/// ideal scaling.
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
  const Estimate& exact = f.epoch_view.efficiency;
  const double least = (before - 0.5) / (after + 0.5) * share;
  const double most = (before + 0.5) / (after - 0.5) * share;
  return fmt::format(
      "A log in whole seconds would show {:.0f} s and {:.0f} s, hence {} (anything from {} to {}) "
      "instead of {}: {}.",
      before, after, percent(rounded), percent(least), percent(most), percent(exact.value),
      effect_of_rounding({rounded, least, most}, exact, kept));
}

/// "2 or 4 ranks".
std::string ranks_of(const std::vector<const PointFigures*>& spots) {
  Texts ranks;
  for (const PointFigures* spot : spots) ranks.push_back(std::to_string(spot->ranks()));
  if (ranks == Texts{"1"}) return "1 rank";
  return listed(ranks, "or") + " ranks";
}

Sentence what_to_choose(const SeriesFigures& series, const FindingOptions& options) {
  if (series.points.size() < 2) return {};
  Texts choices;
  for (const Purpose purpose : options.purposes) {
    const auto spots = sweet_spots(series, purpose, options.efficiency);
    if (spots.empty()) continue;
    std::string choice = ranks_of(spots) + " " + reason_of(purpose, options.efficiency);
    if (spots.size() > 1) choice += " (repeats do not tell which)";
    choices.push_back(std::move(choice));
  }
  if (choices.empty()) return {};
  return "Of the numbers of ranks that were run, take " + listed(choices) + ".";
}

void add(Texts& all, const Sentence& sentence) {
  if (sentence) all.push_back(*sentence);
}

}  // namespace

Texts sentences(const SeriesFigures& series, const FindingOptions& options) {
  Texts all;
  if (const PointFigures* f = widest(series)) {
    add(all, how_far_it_scales(series, *f));
    for (const std::string& sentence : loss_sentences(series, *f)) all.push_back(sentence);
    add(all, what_steps_say(series, *f));
    add(all, what_rounding_would_hide(series, *f, options.efficiency));
    add(all, how_serial_it_is(series));
  }
  add(all, what_balance_would_bring(series.points.back()));
  add(all, what_to_choose(series, options));
  return all;
}

}  // namespace rueda
