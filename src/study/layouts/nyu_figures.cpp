#include "nyu_figures.hpp"

#include <cmath>

#include "rueda/core/error.hpp"
#include "rueda/model/registry.hpp"

namespace rueda {

double gradient_bytes(const std::string& model) {
  constexpr int kPixels = 32, kClasses = 10;  // the count does not depend on the pixels
  constexpr double kFloat = 4;
  try {
    return kFloat * double(build_model(model, kPixels, kClasses).parameter_count());
  } catch (const InputError&) {
    return kUnknown;
  }
}

NyuFigures nyu_figures(const SeriesFigures& series, const PointFigures& point) {
  const PointFigures& base = series.points.front();
  const double ranks = double(point.point->ranks);
  NyuFigures f;
  f.time = point.point->epoch.value;
  f.steps = double(point.point->steps);
  if (base.point->ranks != 1) return f;
  f.one_rank = base.point->epoch.value;
  if (base.has_run) f.loading = base.epoch_phases[std::size_t(Phase::load)];
  f.compute = (f.one_rank - (std::isnan(f.loading) ? 0 : f.loading)) / ranks;
  if (point.point->ranks == 1) return f;
  const CommunicationFigures& c = point.communication;
  f.inferred = f.time - f.compute;
  f.measured = c.measured;
  f.exposed = c.exposed;
  f.busbw = c.busbw;
  f.bytes = point.has_run ? c.bytes_per_step : gradient_bytes(series.series->model);
  if (f.inferred > 0) {
    f.bandwidth = 2 * (ranks - 1) / ranks * f.bytes * f.steps / f.inferred / 1e9;
  }
  return f;
}

}  // namespace rueda
