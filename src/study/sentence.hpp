#pragma once

#include <optional>
#include <string>

#include <fmt/ranges.h>

#include "display/text.hpp"
#include "record/definitions.hpp"
#include "study/report.hpp"

namespace rueda {

/// A finding, or nothing where it does not apply.
using Sentence = std::optional<std::string>;

inline std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

inline std::string rank_words(std::size_t ranks) { return counted(ranks, "rank"); }

/// "a, b and c"; not empty.
inline std::string listed(const Texts& words, const char* last = "and") {
  if (words.size() == 1) return words[0];
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), last,
                     words.back());
}

/// What the loss of a point that is not of the fewest ranks consists of: the factor, the phases,
/// the growth of a step, communication.
Texts loss_sentences(const SeriesFigures& series, const PointFigures& f);

/// What --balance speed would bring where the ranks of a point, in all repeats, are not equally
/// fast by more than it leaves as it is.
Sentence what_balance_would_bring(const PointFigures& f);

/// The serial fraction by Amdahl, and by Karp and Flatt; nothing where there is no fit.
Sentence how_serial_it_is(const SeriesFigures& series);

}  // namespace rueda
