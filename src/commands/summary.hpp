#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// The options of `rueda summary`.
struct SummaryOptions {
  TrainConfig train = {};  ///< the options that `train` has, too; threads 0: all cores
  int classes = 10;
  int ranks = 1;
  std::string memory = {};  ///< for example 64GB; empty: the largest batch is not looked for
  /// H200, H100, A100 or "FLOP/s,bytes/s"; empty: no roofline.
  std::string roofline = {};
};

/// Bytes of "64GB", "1.5GiB", "800 MB": decimal or binary units. Throws InputError naming --memory.
std::size_t parse_memory(const std::string& text);

/// Throws InputError naming --classes.
void check_classes(int classes);

/// Throws InputError beyond the limits of training.
void validate(const SummaryOptions& options);

/// Prints the layers of a model with shapes, parameters and FLOPs, the totals,
/// and the memory that training takes of one rank, planned as training plans
/// it. Throws InputError for an unknown model or an image size that it does not
/// take.
void run_command(const SummaryOptions& options, std::ostream& out);

}  // namespace rueda
