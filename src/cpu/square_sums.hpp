#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rueda::cpu {

/// Backend::square_sums. The memory of the pieces' sums grows to what the longest range needs.
class SquareSums {
 public:
  void operator()(std::span<const float> values, std::span<const std::size_t> ends,
                  std::span<double> to);

 private:
  double sum(std::span<const float> values);

  std::vector<double> pieces_;
};

}  // namespace rueda::cpu
