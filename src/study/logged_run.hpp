#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rueda/study/observation.hpp"

namespace rueda {

/// A finished epoch as a log prints it: rounded. Seconds.
struct LoggedEpoch {
  std::size_t number = 0;  ///< from 1
  std::size_t steps = 0;   ///< 0: unknown
  Estimate printed;        ///< what the rounding of its seconds leaves
  Estimate seconds;        ///< what all figures of its line together leave, at most as wide
  double loss = kUnknown, accuracy = kUnknown;
  double val_loss = kUnknown, val_accuracy = kUnknown;
};

/// A run of which only printed figures are known.
struct LoggedRun {
  std::string source;
  std::string model;
  std::string variant;
  Processor processor = Processor::cpu;
  std::size_t ranks = 1;
  std::size_t global_batch = 0;  ///< 0: unknown
  std::size_t image_size = 0;    ///< 0: unknown
  double images = kUnknown;      ///< in the data set
  std::vector<LoggedEpoch> epochs;
};

/// "14s", "544ms", "73us", "23.44s", "8.715 s": in seconds, with what rounding to the last digit
/// leaves, never below 0. Nothing if the text is not a whole duration.
std::optional<Estimate> printed_duration(std::string_view text);

/// What both ranges leave, and the value of the narrower one within it; `first` if they exclude
/// each other.
Estimate narrowed(const Estimate& first, const Estimate& second);

/// Images that an epoch of `steps` steps takes of `images`: all of them with a partial last step,
/// or steps x batch where a remainder is left out. NaN if neither fits.
double images_of_epoch(double images, std::size_t steps, std::size_t global_batch);

/// Steady: medians of values and bounds over the epochs after the first. Without a partial last
/// step a full step takes epoch / steps. With one its value supposes that time follows images, and
/// its bounds that the partial step took from nothing to as long as a full one. Throws
/// std::invalid_argument if there is no epoch.
Observation observe(const LoggedRun& run);

}  // namespace rueda
