#pragma once

#include <cstddef>
#include <span>

#include "record/evaluation_record.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// What a network answered to images, in their order: a logit of each class.
struct Answers {
  std::span<const float> logits;
  std::size_t classes = 0;

  std::span<const float> row(std::size_t image) const {
    return logits.subspan(image * classes, classes);
  }
  /// The class of the largest logit, the first of equals, as where the loss counts.
  std::size_t predicted(std::size_t image) const;
  /// Of the predicted class (softmax).
  float probability(std::size_t image) const;
};

/// Some of the images that a person looks at; `answers` has one to each of `test`.
SampleImages sample_images(const Answers& answers, const ImageSet& test);

}  // namespace rueda
