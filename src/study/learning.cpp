#include "study/learning.hpp"

#include <cmath>

namespace rueda {
namespace {

/// Scores of nothing where the epoch was not evaluated.
Score test_score(const EpochFigures& epoch) {
  return epoch.test.value_or(Score{.loss = NAN, .accuracy = NAN});
}

void thin(std::vector<double>& values) {
  if (values.size() <= kMostCurvePoints) return;
  const double gap = double(values.size() - 1) / double(kMostCurvePoints - 1);
  std::vector<double> kept;
  for (std::size_t i = 0; i < kMostCurvePoints; ++i)
    kept.push_back(values[std::size_t(std::lround(double(i) * gap))]);
  values = std::move(kept);
}

template <typename Of>
Curve curve_of(const RunResult& run, Of of) {
  Curve curve;
  for (std::size_t e = 0; e < run.epochs.size(); ++e) {
    const double value = of(run.epochs[e]);
    if (!std::isfinite(value)) continue;
    curve.epochs.push_back(double(e + 1));
    curve.values.push_back(value);
  }
  curve.known = curve.values.size();
  thin(curve.epochs);
  thin(curve.values);
  return curve;
}

}  // namespace

Learning learning_of(const RunResult& run) {
  const auto loss = [](const EpochFigures& e) { return e.train.loss; };
  const auto accuracy = [](const EpochFigures& e) { return e.train.accuracy; };
  const auto val_loss = [](const EpochFigures& e) { return test_score(e).loss; };
  const auto val_accuracy = [](const EpochFigures& e) { return test_score(e).accuracy; };
  return {.epochs = run.epochs.size(),
          .loss = curve_of(run, loss),
          .accuracy = curve_of(run, accuracy),
          .val_loss = curve_of(run, val_loss),
          .val_accuracy = curve_of(run, val_accuracy)};
}

}  // namespace rueda
