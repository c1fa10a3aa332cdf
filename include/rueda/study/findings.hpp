#pragma once

#include <string>
#include <vector>

#include "study.hpp"
#include "study/figures.hpp"

namespace rueda {

/// What a number of ranks is to be recommended by.
enum class Purpose {
  time,       ///< the shortest epoch
  cost,       ///< the fewest device hours
  knee,       ///< most speedup x efficiency (Eager, Zahorjan, Lazowska, IEEE ToC 38(3), 1989)
  efficiency  ///< the most ranks that keep a given efficiency
};

const char* to_string(Purpose purpose);

struct FindingOptions {
  std::vector<Purpose> purposes = {Purpose::time, Purpose::cost, Purpose::knee,
                                   Purpose::efficiency};
  double efficiency = 0.8;  ///< share that Purpose::efficiency keeps
};

struct Finding {
  std::string about;  ///< label of a series; empty: the study as a whole
  std::string text;   ///< one or more sentences
};

/// The point to choose for a purpose, in the epoch view; null if none will do. Oversubscribed
/// points are not recommended.
const PointFigures* sweet_spot(const SeriesFigures& series, Purpose purpose, double efficiency);

/// What the figures say, in plain sentences with the figures they rest on, in order: by series how
/// far it scales, what explains the loss, how communication shares in it, what whole seconds would
/// have hidden, what is recommended; then what casts doubt on the study.
std::vector<Finding> findings(const Study& study, const std::vector<SeriesFigures>& all,
                              const FindingOptions& options);

}  // namespace rueda
