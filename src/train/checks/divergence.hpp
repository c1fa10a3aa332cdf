#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The loss (cross-entropy, in nats) of guessing, each of `classes` being as likely.
inline double guessing_loss(std::size_t classes) { return std::log(double(classes)); }

/// Whether the training loss of an epoch is far above that of guessing: a
/// network that has learned nothing is better. The mean of the first epoch has
/// the first steps of random weights in it, hence the larger factor.
inline bool has_diverged(const EpochRecord& epoch, std::size_t classes) {
  const double factor = epoch.epoch > 1 ? 2 : 10;
  return epoch.train.loss > factor * guessing_loss(classes);
}

/// Whether the last of the `epochs`, in their order, has.
inline bool ended_diverged(std::span<const EpochRecord> epochs, std::size_t classes) {
  return !epochs.empty() && has_diverged(epochs.back(), classes);
}

}  // namespace rueda
