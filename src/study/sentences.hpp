#pragma once

#include <optional>
#include <string>

#include "rueda/study/report.hpp"

namespace rueda {

/// A finding about a series, or nothing where it does not apply.
using Sentence = std::optional<std::string>;

/// The widest point that had a core for every thread.
const PointFigures* widest(const SeriesFigures& series);

Sentence how_far_it_scales(const SeriesFigures& series);
Sentence what_the_loss_is(const SeriesFigures& series);
Sentence what_grows(const SeriesFigures& series);
Sentence how_communication_shares(const SeriesFigures& series);
Sentence what_steps_say(const SeriesFigures& series);
Sentence what_rounding_would_hide(const SeriesFigures& series);
Sentence how_serial_it_is(const SeriesFigures& series);
Sentence what_to_choose(const SeriesFigures& series, const FindingOptions& options);

}  // namespace rueda
