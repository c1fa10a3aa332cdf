#include "rueda/kernels/softmax_loss.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "../support/values.hpp"
#include "cuda/kernels.hpp"
#include "device_vector.hpp"

// exp and log are the two functions that host and device round each in their own way, both within
// one or two units in the last place. A row sums at most eleven such values here, so losses and
// gradients agree within kUnits units of 1 (of the loss where that is larger), not bit for bit.

namespace {

using rueda::kernels::RowLoss;
using rueda::test::DeviceVector;
using rueda::test::filled;
using rueda::test::rough_value;

constexpr float kUnits = 8 * std::numeric_limits<float>::epsilon();
constexpr float kSentinel = -77;
constexpr std::size_t kMargin = 4;

struct Rows {
  Rows(std::size_t rows_, int classes_)
      : rows(rows_),
        classes(classes_),
        elements(rows * static_cast<std::size_t>(classes)),
        logits(filled<rough_value>(3, elements)),
        labels(rows),
        gradients(elements + kMargin, kSentinel),
        losses(rows + kMargin, RowLoss{kSentinel, false}) {
    for (std::size_t i = 0; i < elements; ++i) logits[i] = logits[i] / 16;  // up to 16 apart
    for (std::size_t r = 0; r < rows; ++r) {
      labels[r] = static_cast<std::int32_t>((r * 7 + 3) % static_cast<std::size_t>(classes));
    }
  }

  void compute_on_host(float scale) {
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t first = r * static_cast<std::size_t>(classes);
      losses[r] = rueda::kernels::softmax_cross_entropy_row(logits.data() + first, classes,
                                                            labels[r], scale, &gradients[first]);
    }
  }

  std::size_t rows;
  int classes;
  std::size_t elements;
  std::vector<float> logits;
  std::vector<std::int32_t> labels;
  std::vector<float> gradients;
  std::vector<RowLoss> losses;
};

std::size_t wrong_gradients(const std::vector<float>& a, const std::vector<float>& b, float scale) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= kUnits * scale)) ++wrong;
  }
  return wrong;
}

std::size_t wrong_losses(const std::vector<RowLoss>& a, const std::vector<RowLoss>& b) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float size = std::fmax(1.0F, std::fabs(b[i].loss));
    if (!(std::fabs(a[i].loss - b[i].loss) <= kUnits * size)) ++wrong;
    if (a[i].correct != b[i].correct) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("softmax_cross_entropy equals the host's within rounding of exp and log", "[device]") {
  const auto rows = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{256},
                             std::size_t{1000}, std::size_t{4096 * 256 + 3});
  const int classes = GENERATE(1, 2, 10, 11);
  CAPTURE(rows, classes);
  constexpr float scale = 1.0F / 128;
  const auto stream = rueda::cuda::make_stream();
  Rows host(rows, classes);
  const DeviceVector<float> logits(host.logits, stream.get());
  const DeviceVector<std::int32_t> labels(host.labels, stream.get());
  const DeviceVector<float> gradients(host.gradients, stream.get());
  const DeviceVector<RowLoss> losses(host.losses, stream.get());
  host.compute_on_host(scale);

  CHECK(rueda::cuda::softmax_cross_entropy(logits.data(), labels.data(), rows, classes, scale,
                                           nullptr, losses.data(), stream.get()) == cudaSuccess);
  CHECK(wrong_losses(losses.read(), host.losses) == 0);
  CHECK(gradients.read() == std::vector<float>(host.elements + kMargin, kSentinel));

  CHECK(rueda::cuda::softmax_cross_entropy(logits.data(), labels.data(), rows, classes, scale,
                                           gradients.data(), losses.data(),
                                           stream.get()) == cudaSuccess);
  CHECK(wrong_losses(losses.read(), host.losses) == 0);
  CHECK(wrong_gradients(gradients.read(), host.gradients, scale) == 0);
}
