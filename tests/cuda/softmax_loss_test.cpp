#include "kernels/softmax_loss.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/kernels/kernels.hpp"
#include "device_tools.hpp"
#include "tests/support/values.hpp"

// exp and log are the two functions that host and device round each in their own way, both within
// one or two units in the last place. A row sums at most eleven such values here, so losses and
// gradients agree within kUnits units of 1 (of the loss where that is larger), not bit for bit.

namespace {

using rueda::kernels::RowLoss;
using rueda::test::DeviceVector;
using rueda::test::filled;
using rueda::test::rough_value;

constexpr float kUnits = 8 * std::numeric_limits<float>::epsilon();
constexpr float kLossSentinel = -77;
constexpr std::size_t kLossMargin = 4;

struct Rows {
  Rows(std::size_t rows_, int classes_)
      : rows(rows_),
        classes(classes_),
        elements(rows * std::size_t(classes)),
        logits(filled<rough_value>(3, elements)),
        labels(rows),
        gradients(elements + kLossMargin, kLossSentinel),
        losses(rows + kLossMargin, RowLoss{kLossSentinel, false}) {
    for (std::size_t i = 0; i < elements; ++i) logits[i] = logits[i] / 16;  // up to 16 apart
    for (std::size_t r = 0; r < rows; ++r)
      labels[r] = std::int32_t((r * 7 + 3) % std::size_t(classes));
  }

  void compute_on_host(float smoothing, float scale) {
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t first = r * std::size_t(classes);
      losses[r] = rueda::kernels::softmax_cross_entropy_row(
          logits.data() + first, classes, labels[r], smoothing, scale, &gradients[first]);
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

void check_against_host(std::size_t rows, int classes, float smoothing = 0) {
  CAPTURE(rows, classes, smoothing);
  constexpr float scale = 1.0F / 128;
  const auto stream = rueda::cuda::make_stream();
  Rows host(rows, classes);
  const DeviceVector<float> device_scale({scale}, stream.get());
  const DeviceVector<float> logits(host.logits, stream.get());
  const DeviceVector<std::int32_t> labels(host.labels, stream.get());
  const DeviceVector<float> gradients(host.gradients, stream.get());
  const DeviceVector<RowLoss> losses(host.losses, stream.get());
  host.compute_on_host(smoothing, scale);

  rueda::cuda::softmax_cross_entropy(logits.data(), labels.data(), rows, classes, smoothing,
                                     nullptr, nullptr, losses.data(), stream.get());
  CHECK(wrong_losses(losses.read(), host.losses) == 0);
  CHECK(gradients.read() == std::vector<float>(host.elements + kLossMargin, kLossSentinel));

  rueda::cuda::softmax_cross_entropy(logits.data(), labels.data(), rows, classes, smoothing,
                                     device_scale.data(), gradients.data(), losses.data(),
                                     stream.get());
  CHECK(wrong_losses(losses.read(), host.losses) == 0);
  CHECK(wrong_gradients(gradients.read(), host.gradients, scale) == 0);
}

}  // namespace

TEST_CASE("softmax_cross_entropy equals the host's within rounding of exp and log", "[device]") {
  const auto rows =
      GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{256}, std::size_t{1000});
  check_against_host(rows, GENERATE(1, 2, 10, 11));
}

TEST_CASE("softmax_cross_entropy of smoothed labels equals the host's as well", "[device]") {
  check_against_host(GENERATE(std::size_t{1}, std::size_t{1000}), GENERATE(1, 2, 10, 11), 0.1F);
}

TEST_CASE("softmax_cross_entropy of more rows than a grid has threads", "[device][long]") {
  check_against_host(4096 * 256 + 3, GENERATE(1, 2, 10, 11));
}

TEST_CASE("losses are summed over all rows, correct ones counted", "[device]") {
  const std::size_t rows = GENERATE(1, 255, 256, 257, 3000);
  const auto stream = rueda::cuda::make_stream();
  std::vector<RowLoss> host(rows);
  double loss = 0;
  double correct = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    host[r] = {float(r % 17) * 0.25F, r % 3 == 0};
    loss += double(host[r].loss);
    correct += host[r].correct ? 1 : 0;
  }
  const DeviceVector<RowLoss> losses(host, stream.get());
  const DeviceVector<float> sums({-1.0F, -1.0F, kLossSentinel}, stream.get());
  rueda::cuda::sum_losses(losses.data(), rows, sums.data(), stream.get());
  CHECK(sums.read() == std::vector<float>{float(loss), float(correct), kLossSentinel});
}

TEST_CASE("step sums flag what is not finite, and remember it", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  const float bad = GENERATE(0.0F, NAN, INFINITY, -INFINITY);
  const std::size_t place = GENERATE(0, 255, 1024, 2999);
  std::vector<float> values(3000, 1.5F);
  if (bad != 0.0F) values[place] = bad;
  const DeviceVector<float> statistics(values, stream.get());
  const DeviceVector<float> sums({3.5F, 2.0F}, stream.get());
  const DeviceVector<float> flags({0.0F, 7.0F}, stream.get());
  const DeviceVector<float> to(std::vector<float>(8, kLossSentinel), stream.get());
  const DeviceVector<rueda::cuda::SumScratch> scratch(std::vector<rueda::cuda::SumScratch>(1),
                                                      stream.get());
  const auto write = [&](const float* loss) {
    rueda::cuda::write_step_sums(to.data(), loss, statistics.data(), values.size(), 12,
                                 flags.data(), scratch.data(), stream.get());
  };
  write(sums.data());
  const float flag = bad == 0.0F ? 0.0F : 1.0F;
  CHECK(to.read() == std::vector<float>{3.5F, 2.0F, 12.0F, flag, 7.0F, 0, 0, kLossSentinel});
  CHECK(flags.read().front() == flag);

  const DeviceVector<float> bad_loss({NAN, 0.0F}, stream.get());
  write(bad_loss.data());
  CHECK(to.read()[3] == 1.0F);
  write(sums.data());
  CHECK(flags.read().front() == 1.0F);  // it stays
  CHECK(to.read()[3] == flag);          // not this
}

/// What the host's memory had before does not count: no kernel reads it.
TEST_CASE("counts go up on the device, and pinned memory has them too", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  const DeviceVector<std::uint64_t> counts({1, 2, 3}, stream.get());
  const auto memory = rueda::cuda::make_pinned_memory(3 * sizeof(std::uint64_t));
  auto* seen = static_cast<std::uint64_t*>(memory.get());
  std::fill_n(seen, 3, 70U);
  for (int i = 0; i < 2; ++i) rueda::cuda::count_up(counts.data(), seen, 1, stream.get());
  CHECK(counts.read() == std::vector<std::uint64_t>{1, 4, 3});
  CHECK(std::vector(seen, seen + 3) == std::vector<std::uint64_t>{70, 4, 70});
}
