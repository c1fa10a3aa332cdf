#include "totals.hpp"

#include <cstring>
#include <span>

namespace rueda {

Score Totals::score(double seconds) const {
  return {.loss = loss / samples,
          .accuracy = correct / samples,
          .samples = static_cast<std::size_t>(samples),
          .seconds = seconds};
}

Totals sum_over_ranks(RankGroup& group, const Totals& mine) {
  Totals sum;
  for (const auto& bytes : group.all_gather(std::as_bytes(std::span(&mine, 1)))) {
    Totals one;
    std::memcpy(&one, bytes.data(), sizeof one);
    sum.loss += one.loss;
    sum.correct += one.correct;
    sum.samples += one.samples;
  }
  return sum;
}

}  // namespace rueda
