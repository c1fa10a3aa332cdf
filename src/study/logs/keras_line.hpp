#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "study/observation.hpp"

namespace rueda::keras {

// What the lines say that Keras' fit() prints.

/// "Epoch 3/5" within a line.
struct EpochMark {
  std::size_t number = 0;
  std::size_t begin = 0, end = 0;  ///< its position
};

/// What a line says about the run that follows; empty or 0 where it says nothing.
struct RunHeader {
  std::string model = {};
  std::size_t ranks = 0;
  std::size_t global_batch = 0;
};

/// Takes a whole number below 10^9 from the front of `text`; nothing if there is none.
std::optional<std::size_t> take_count(std::string_view& text) noexcept;

/// The first mark.
std::optional<EpochMark> find_epoch_mark(std::string_view line);

/// "Model ResNet50 4 GPUs", `Model: "resnet50v2"`, "Batch_size: 2048",
/// "Num_replicas: 4"; nothing for any other line.
std::optional<RunHeader> parse_run_header(std::string_view line);

/// A finished epoch in any of these forms, after blanks and without line end:
///   25/25 - 14s - loss: 2.1 - accuracy: 0.2 - 14s/epoch - 544ms/step   (verbose=2)
///   25/25 - 14s - 544ms/step - accuracy: 0.2 - loss: 2.1               (verbose=2, Keras 3)
///   25/25 - 14s - loss: 2.1 - accuracy: 0.2                            (verbose=2, before 2021)
///   25/25 [========] - 14s 544ms/step - loss: 2.1                      (verbose=1)
///   50000/50000 [====] - 14s 280us/sample - loss: 2.1                  (TensorFlow 1)
///   40/40 - 8.715 s - 0.218 s/step - loss: 2.7 - accuracy: 0.1         (rueda)
/// Nothing for unfinished epochs, also at their last step, and for any other line. How Keras
/// computes these figures: keras/src/utils/progbar.py. With verbose=1 the time per step leaves out
/// the first one, so it bounds the epoch only from below; elsewhere it is the epoch's time / steps.
std::optional<LoggedEpoch> parse_finished_line(std::string_view line);

}  // namespace rueda::keras
