#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace rueda {

/// The options of `rueda summary`.
struct SummaryOptions {
  std::string model = "resnet20";
  int image_size = 32;
  int classes = 10;
  std::size_t batch_per_rank = 64;
};

/// Prints the layers of a model with shapes, parameters and FLOPs, and the totals. Throws
/// InputError for an unknown model or an image size that it does not take.
void run_summary(const SummaryOptions& options, std::ostream& out);

}  // namespace rueda
