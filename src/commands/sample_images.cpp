#include "commands/sample_images.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace rueda {
namespace {

constexpr std::size_t kImagesOfAKind = 8;

/// Red, green and blue of each pixel, row by row, in hexadecimal digits.
std::string hex_of(std::span<const std::uint8_t> planes) {
  constexpr std::size_t kPixels = std::size_t(kImageSide) * kImageSide;
  std::string text;
  for (std::size_t i = 0; i < kImageBytes; ++i)
    text += fmt::format("{:02x}", planes[i % kImageChannels * kPixels + i / kImageChannels]);
  return text;
}

SampleImage sample_of(std::size_t i, const Answers& answers, const ImageSet& test) {
  return {.image = i,
          .label = test.labels[i],
          .predicted = answers.predicted(i),
          .probability = answers.probability(i),
          .rgb = hex_of(test.image(i))};
}

}  // namespace

std::size_t Answers::predicted(std::size_t image) const {
  const auto values = row(image);
  return std::size_t(std::ranges::max_element(values) - values.begin());
}

float Answers::probability(std::size_t image) const {
  const auto values = row(image);
  const float most = values[predicted(image)];
  float sum = 0;
  for (const float logit : values) sum += std::exp(logit - most);
  return 1 / sum;
}

SampleImages sample_images(const Answers& answers, const ImageSet& test) {
  std::vector<std::pair<float, std::size_t>> mistakes;  // surest first, then in order
  for (std::size_t i = 0; i < test.size(); ++i)
    if (answers.predicted(i) != test.labels[i]) mistakes.emplace_back(-answers.probability(i), i);
  const auto mistaken = std::min(kImagesOfAKind, mistakes.size());
  std::ranges::partial_sort(mistakes, mistakes.begin() + std::ptrdiff_t(mistaken));
  SampleImages samples;
  for (std::size_t i = 0; i < std::min(kImagesOfAKind, test.size()); ++i)
    samples.first.push_back(sample_of(i, answers, test));
  for (std::size_t m = 0; m < mistaken; ++m)
    samples.mistakes.push_back(sample_of(mistakes[m].second, answers, test));
  return samples;
}

}  // namespace rueda
