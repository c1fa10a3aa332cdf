#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/json_parts.hpp"

namespace rueda {

// `rueda evaluate --json` writes a network's answers, and reports read them
// (docs/checkpoints.md). One list of fields does both.

/// How a class of the test images fared.
struct ClassScore {
  std::string name;
  std::size_t images = 0;
  std::size_t correct = 0;
  std::size_t predicted = 0;  ///< images of all classes that were taken for it
};

/// A test image with what it was taken for.
struct SampleImage {
  std::size_t image = 0;  ///< its place in the test set
  std::size_t label = 0, predicted = 0;
  double probability = NAN;  ///< of the predicted class
  std::string rgb;           ///< 32 x 32 x 3 bytes, row by row, as two hexadecimal digits each
};

/// Images of the test set: the first ones, and the mistakes with the highest probability.
struct SampleImages {
  std::vector<SampleImage> first, mistakes;
};

struct EvaluationRecord {
  std::string weights;  ///< path of their file
  Score score;
  std::vector<std::vector<std::size_t>> confusion;  ///< rows are classes, columns predicted ones
  std::vector<ClassScore> classes;
  SampleImages samples;
};

/// The name under which a report looks for the evaluation of a run, in the run's directory.
inline constexpr const char* kEvaluationName = "evaluation.json";
inline constexpr const char* kEvaluationSchema = "rueda-evaluation";
inline constexpr std::size_t kEvaluationVersion = 1;

inline auto fields_of(const ClassScore&) {
  return std::tuple{Field{"name", &ClassScore::name}, Field{"images", &ClassScore::images},
                    Field{"correct", &ClassScore::correct},
                    Field{"predicted", &ClassScore::predicted}};
}
inline auto fields_of(const SampleImage&) {
  return std::tuple{Field{"image", &SampleImage::image}, Field{"label", &SampleImage::label},
                    Field{"predicted", &SampleImage::predicted},
                    Field{"probability", &SampleImage::probability, or_nan},
                    Field{"rgb", &SampleImage::rgb}};
}
inline auto fields_of(const SampleImages&) {
  return std::tuple{Field{"first", &SampleImages::first},
                    Field{"mistakes", &SampleImages::mistakes}};
}

/// The scores are kTestScoreFields.
inline const std::tuple kAnswerFields{Field{"confusion", &EvaluationRecord::confusion},
                                      Field{"classes", &EvaluationRecord::classes},
                                      Field{"samples", &EvaluationRecord::samples, if_any}};

}  // namespace rueda
