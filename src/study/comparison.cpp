#include "study/comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "study/sentence.hpp"

namespace rueda {
namespace {

std::string in_millis(double seconds) { return cell_text(seconds, Show::millis) + " ms"; }

/// The sentences of a comparison, in their order.
class Conclusions {
 public:
  explicit Conclusions(const RunPair& runs) : runs_(runs) {}

  std::string settings(const Table& differing) const {
    constexpr std::size_t kNamed = 8;
    Texts names;
    for (const auto& row : differing.rows) names.push_back(row.front().text());
    const std::size_t others = names.size() - std::min(names.size(), kNamed);
    names.resize(names.size() - others);
    if (others > 0) names.push_back(counted(others, "other setting"));
    if (names.empty()) return which_is_which(runs_) + " No setting differs.";
    return which_is_which(runs_) + " They differ in " + listed(names) + ".";
  }

  std::string speed() const {
    const Estimate a = steady_rate(*runs_[0]), b = steady_rate(*runs_[1]);
    const bool b_leads = b.value > a.value;
    const double ratio = b_leads ? b.value / a.value : a.value / b.value;
    return fmt::format("A trains {} images/s and B {}{}{}", rate_text(a.value), rate_text(b.value),
                       verdict(a, b, b_leads ? "B" : "A", ratio), reservations());
  }

  /// Of the phase whose time differs most in the direction of the step; nothing without full steps.
  Sentence phases() const {
    const PhaseSeconds a = full_step_phases(*runs_[0]), b = full_step_phases(*runs_[1]);
    const double more = sum_of_phases(b) - sum_of_phases(a);
    if (!(sum_of_phases(a) > 0 && sum_of_phases(b) > 0)) return {};
    const std::string steps = fmt::format("A mean full step takes {} in A and {} in B",
                                          in_millis(sum_of_phases(a)), in_millis(sum_of_phases(b)));
    if (std::abs(more) < kSingleRunsDiffer * std::min(sum_of_phases(a), sum_of_phases(b)))
      return fmt::format("{}, which is less than {} apart.", steps, percent(kSingleRunsDiffer));
    std::size_t most = 0;
    const auto gain = [&](std::size_t p) { return std::copysign(1.0, more) * (b[p] - a[p]); };
    for (std::size_t p = 0; p < kPhases; ++p)
      if (gain(p) > gain(most)) most = p;
    return fmt::format("{}{}. The largest part of the difference is {}: {} in A, {} in B.", steps,
                       batches(), phase_words(most), in_millis(a[most]), in_millis(b[most]));
  }

  /// At the last epoch that both evaluated.
  Sentence learning() const {
    const EpochFigures *a = nullptr, *b = nullptr;
    for (std::size_t e = 0; e < std::min(epochs(0).size(), epochs(1).size()); ++e) {
      if (!epochs(0)[e].test || !epochs(1)[e].test) continue;
      a = &epochs(0)[e];
      b = &epochs(1)[e];
    }
    if (a == nullptr) return {};
    const auto epoch = std::size_t(a - epochs(0).data()) + 1;
    if (!a->parameter_hash.empty() && a->parameter_hash == b->parameter_hash)
      return fmt::format("After epoch {} both have the same parameters, bit for bit.", epoch);
    return fmt::format(
        "After epoch {}, the last that both evaluated, test accuracy is {} in A and "
        "{} in B: {}",
        epoch, percent(a->test->accuracy), percent(b->test->accuracy),
        accuracy(*a->test, *b->test));
  }

 private:
  const std::vector<EpochFigures>& epochs(std::size_t run) const { return runs_[run]->epochs; }

  /// Which is faster, or why that is not determined.
  std::string verdict(const Estimate& a, const Estimate& b, const char* faster,
                      double ratio) const {
    const bool disturbed = observe(*runs_[0]).disturbed || observe(*runs_[1]).disturbed;
    if (ratio - 1 < kSingleRunsDiffer)
      return fmt::format(
          ". Single runs that are less than {} apart do not determine which is faster.",
          percent(kSingleRunsDiffer));
    if (a.high >= b.low && b.high >= a.low)
      return ", but their ranges over epochs overlap, so which is faster is not determined.";
    if (disturbed)
      return ", but a rank got less than 85 % of its cores, so which is faster is not determined: "
             "repeat both on cores of their own.";
    return fmt::format(": {} is {:.2f} times as fast.", faster, ratio);
  }

  /// Two standard errors of the difference of two shares.
  static double chance(const Score& a, const Score& b) {
    const auto variance = [](const Score& s) {
      return s.accuracy * (1 - s.accuracy) / double(std::max<std::size_t>(s.samples, 1));
    };
    return 2 * std::sqrt(variance(a) + variance(b));
  }

  static std::string accuracy(const Score& a, const Score& b) {
    const double apart = std::abs(b.accuracy - a.accuracy);
    const std::string images = counted(std::min(a.samples, b.samples), "test image");
    const std::string margin =
        fmt::format("the {:.1f} points (two standard errors) that {} leave to chance",
                    100 * chance(a, b), images);
    if (!(apart > chance(a, b)))
      return fmt::format("not more than {}, so which learned better is not determined.", margin);
    return fmt::format("{} is better by {:.1f} points, more than {}. Another seed may change that.",
                       b.accuracy > a.accuracy ? "B" : "A", 100 * apart, margin);
  }

  /// " (64 images of a rank in A, 32 in B)", where that differs.
  std::string batches() const {
    const std::string a = rank_batch_text(*runs_[0]), b = rank_batch_text(*runs_[1]);
    if (a == b) return "";
    return fmt::format(" (each rank has {} images in A, {} in B)", a, b);
  }

  /// What else makes their times doubtful.
  std::string reservations() const {
    std::string text;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Observation seen = observe(*runs_[i]);
      const char letter = "AB"[i];
      if (seen.includes_warm_up)
        text += fmt::format(" The only epoch of {} includes warm-up.", letter);
      if (seen.oversubscribed)
        text += fmt::format(" {} ran more threads than there were cores.", letter);
    }
    return text;
  }

  RunPair runs_;
};

}  // namespace

Comparison compare(const RunResult& a, const RunResult& b) {
  Comparison both{.runs = {&a, &b}};
  both.tables = comparison_tables(both.runs);
  const Conclusions say(both.runs);
  both.findings = {say.settings(both.tables.front()), say.speed()};
  for (const Sentence& sentence : {say.phases(), say.learning()})
    if (sentence) both.findings.push_back(*sentence);
  std::erase_if(both.tables, [](const Table& table) { return table.rows.empty(); });
  return both;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = "\nComparison\n";
  for (const std::string& finding : comparison.findings) text += paragraph("  - ", 4, finding);
  for (const Table& table : comparison.tables) {
    if (table.id == "comparison_settings") {
      text += "\n" + table.title + "\n";
      for (const auto& row : table.rows)
        text +=
            paragraph("  - ", 4, row[0].text() + ": A " + row[1].text() + ", B " + row[2].text());
    }
    if (table.id == "comparison_steps") text += "\n" + to_text(table);
  }
  return text;
}

}  // namespace rueda
