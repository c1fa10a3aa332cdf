#include <functional>
#include <numeric>

#include "study/sentence.hpp"

namespace rueda {
namespace {

constexpr double kWorthNaming = 0.05;  // of the loss

std::string phase_name(std::size_t p) {
  if (p == kAllReduce) return "the " + phase_words(p);
  return phase_words(p);
}

struct LossPart {
  double seconds;
  double spread;  ///< what repeats differ by
  std::string name;
};

/// The largest first.
std::vector<LossPart> parts_of(const Losses& loss) {
  std::vector<LossPart> parts;
  for (std::size_t p = 0; p < kPhases; ++p)
    parts.push_back({loss.phases[p], loss.phase_spreads[p], phase_name(p)});
  parts.push_back({loss.rest, loss.rest_spread, "uneven ranks and time between steps"});
  std::ranges::stable_sort(parts, std::greater(), &LossPart::seconds);
  return parts;
}

/// Seconds of the parts that took longer than with ideal scaling.
double gained_by(const std::vector<LossPart>& parts) {
  double sum = 0;
  for (const LossPart& part : parts) sum += std::max(0.0, part.seconds);
  return sum;
}

/// What is worth naming, and more than repeats differ by: of the parts that took longer than with
/// ideal scaling their shares of all that did, or those that took less.
Texts named_parts(const Losses& loss, bool less) {
  const auto parts = parts_of(loss);
  const double longer = gained_by(parts);
  Texts named;
  for (const auto& [signed_seconds, spread, name] : parts) {
    const double seconds = less ? -signed_seconds : signed_seconds;
    if (seconds < kWorthNaming * loss.lost || seconds <= spread) continue;
    std::string text = name + " " + seconds_text(seconds) + " s";
    if (!less) text += " (" + percent(seconds / longer) + ")";
    named.push_back(std::move(text));
  }
  return named;
}

bool is_determined(const PointFigures& f) { return !f.losses || f.losses->determined(); }

Sentence which_factor_costs_most(const SeriesFigures&, const PointFigures& f) {
  const EfficiencyFactors& e = f.factors;
  if (!(e.back() < kNothingLost) || !is_determined(f)) return {};
  const std::string text = fmt::format("At {} {} of the global efficiency is lost",
                                       rank_words(f.ranks()), percent(1 - e.back()));
  if (!f.costliest) return text + "; repeats do not agree by which factor most.";
  return fmt::format("{}, most by {} ({:.2f}).", text, kFactors.at(*f.costliest).second,
                     e.at(*f.costliest));
}

std::string causes_text(const Losses& loss) {
  constexpr double kRounded = 0.0005;  // of a share, as it is shown
  const Texts named = named_parts(loss, false);
  if (named.empty())
    return " No part of it is more than repeats differ by: no cause is determined.";
  const double longer = gained_by(parts_of(loss));
  std::string text = " The causes are " + listed(named);
  if (named.size() == 1) text = " The cause is " + named.front();
  if (longer > (1 + kRounded) * loss.lost)
    text += fmt::format(", of {} s that took longer than with ideal scaling", seconds_text(longer));
  text += ".";
  if (const Texts less = named_parts(loss, true); !less.empty())
    text += " Less than with ideal scaling took " + listed(less) + ".";
  return text;
}

/// Of the exposed part, if it is most of it; not where the factors blame transfer.
std::string waiting_text(const PointFigures& f) {
  constexpr std::size_t kTransfer = 3;
  const Losses& loss = *f.losses;
  const double exposed = loss.phases[kAllReduce];
  const bool is_most = loss.waiting / exposed >= 0.5 && exposed / loss.lost >= kWorthNaming;
  const bool blamed = f.costliest == kTransfer && f.factors.back() < kNothingLost;
  if (!is_most || blamed || exposed <= loss.phase_spreads[kAllReduce]) return "";
  return " Most of the exposed all-reduce (" + percent(loss.waiting / exposed) +
         ") is waiting for ranks that came later.";
}

Sentence what_the_loss_is(const SeriesFigures&, const PointFigures& f) {
  if (!f.losses || f.epoch_view.efficiency.value >= kNothingLost) return {};
  const Losses& loss = *f.losses;
  const std::string text = fmt::format("Compared with ideal scaling {} lose {} s an epoch.",
                                       rank_words(f.ranks()), seconds_text(loss.lost));
  if (!loss.determined()) {
    return fmt::format("{} Repeats of one configuration differ by {} s: no cause is determined.",
                       text, seconds_text(loss.lost_spread));
  }
  return text + causes_text(loss) + waiting_text(f);
}

double whole_step(const PointFigures& f) {
  return std::accumulate(f.step_phases.begin(), f.step_phases.end(), 0.0);
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

  const double before = whole_step(base);
  const auto of_phase = [&](const RunResult& run) {
    return run.summary.full_step.phases[most].mean;
  };
  const double spread =
      repeats_differ_by(*f.point, of_phase) + repeats_differ_by(*base.point, of_phase);
  if (!(growth(most) > (1 - kNothingLost) * before) || growth(most) <= spread) return {};
  return fmt::format(
      "A mean full step, of the same images per rank, goes from {:.1f} to {:.1f} ms between {} and "
      "{}; the phase that grows most is {} ({:.1f} to {:.1f} ms).",
      before * 1e3, whole_step(f) * 1e3, rank_words(base.point->ranks), rank_words(f.ranks()),
      phase_name(most), base.step_phases[most] * 1e3, f.step_phases[most] * 1e3);
}

Sentence how_communication_shares(const SeriesFigures&, const PointFigures& f) {
  if (std::isnan(f.communication.busy)) return {};
  const CommunicationFigures& c = f.communication;
  std::string inferred = seconds_text(c.inferred) + " s of an epoch by subtraction";
  if (c.inferred < 0)
    inferred = "no time by subtraction, because the epoch is shorter than an ideal one,";
  std::string text = fmt::format(
      "Communication on {} takes {} and {} s as measured in the all-reduce; {} s were exposed",
      rank_words(f.ranks()), inferred, seconds_text(c.busy), seconds_text(c.exposed));
  if (c.busy > c.exposed && c.busy > 0)
    text += " (" + percent(1 - c.exposed / c.busy) + " hidden behind the backward pass)";
  if (c.exposed > 0 && c.inferred > 2 * c.exposed && is_determined(f) &&
      c.inferred > (1 - kNothingLost) * f.point->epoch.value) {
    text += fmt::format(". Subtraction would blame the network for {:.1f} times the exposed part",
                        c.inferred / c.exposed);
  }
  return text + ".";
}

}  // namespace

Texts loss_sentences(const SeriesFigures& series, const PointFigures& f) {
  Texts all;
  for (const auto& sentence :
       {which_factor_costs_most, what_the_loss_is, what_grows, how_communication_shares}) {
    if (const Sentence said = sentence(series, f)) all.push_back(*said);
  }
  return all;
}

}  // namespace rueda
