#pragma once

#include <cstddef>
#include <vector>

#include "study/study.hpp"

namespace rueda {

/// A figure over the epochs in which it is known, as it is drawn: of many
/// epochs some, evenly, with the first and the last.
struct Curve {
  std::size_t known = 0;       ///< epochs that have it, also those left out
  std::vector<double> epochs;  ///< from 1
  std::vector<double> values;
};

/// How a run learned.
struct Learning {
  std::size_t epochs = 0;  ///< finished ones
  Curve loss, accuracy;    ///< over the training images, while they were trained on
  Curve val_loss, val_accuracy;
};

/// More epochs than a picture can show.
inline constexpr std::size_t kMostCurvePoints = 500;

/// Values that are not finite are not known.
Learning learning_of(const RunResult& run);

}  // namespace rueda
