#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rueda/study/logs.hpp"

namespace rueda {

/// Reads a line from left to right. What does not fit is not consumed.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const noexcept { return rest_; }
  bool done() const noexcept { return rest_.empty(); }

  bool take(std::string_view word) noexcept {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void skip(std::string_view any_of) noexcept {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(any_of), rest_.size()));
  }

  /// Everything before the first of these characters.
  std::string_view take_until(std::string_view any_of) noexcept {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(any_of));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  /// A whole number below 10^9.
  std::optional<std::size_t> number() noexcept {
    constexpr std::size_t kMost = 1'000'000'000;
    std::size_t value = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (read.ec != std::errc() || value >= kMost) return {};
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
    return value;
  }

 private:
  std::string_view rest_;
};

/// "Epoch 3/5" within a line.
struct EpochMark {
  std::size_t number = 0;
  std::size_t begin = 0, end = 0;  ///< its position
};

/// The first mark at or after `from`.
std::optional<EpochMark> find_epoch_mark(std::string_view line, std::size_t from);

/// What a line says about the run that follows; empty or 0 where it says nothing.
struct RunHeader {
  std::string model;
  std::size_t ranks = 0;
  std::size_t global_batch = 0;
};

/// "Model ResNet50 4 GPUs", `Model: "resnet50v2"`, "Batch_size: 2048", "Num_replicas: 4"; nothing
/// for any other line.
std::optional<RunHeader> parse_run_header(std::string_view line);

/// A line of counted progress that ends an epoch.
struct FinishedLine {
  LoggedEpoch epoch;
  double samples = kUnknown;  ///< where samples are counted rather than steps; then steps is 0
};

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
std::optional<FinishedLine> parse_finished_line(std::string_view line);

}  // namespace rueda
