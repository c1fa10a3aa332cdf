#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "rueda/predict/forecast.hpp"

namespace rueda::predict {

Distribution Distribution::of_sample(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("a distribution of no values");
  if (values.size() == 1) return Distribution(values.front());
  std::sort(values.begin(), values.end());
  std::vector<Knot> knots;
  const auto last = double(values.size() - 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    knots.push_back({double(i) / last, values[i]});
  }
  return Distribution(std::move(knots));
}

Distribution Distribution::of_spread(const Spread& spread) {
  if (spread.count == 0) throw std::invalid_argument("a distribution of no values");
  return Distribution(
      std::vector<Knot>{{0, spread.min}, {0.5, spread.median}, {0.9, spread.p90}, {1, spread.max}});
}

double Distribution::quantile(double u) const {
  const auto above = std::upper_bound(knots_.begin() + 1, knots_.end() - 1, u,
                                      [](double x, const Knot& knot) { return x < knot.u; });
  const Knot& to = *above;
  const Knot& from = *(above - 1);
  return from.value + (to.value - from.value) * (u - from.u) / (to.u - from.u);
}

double Distribution::expected_max(double count) const {
  double sum = 0;
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const Knot& a = knots_[i - 1];
    const Knot& b = knots_[i];
    const double slope = (b.value - a.value) / (b.u - a.u);
    sum += (a.value - slope * a.u) * (std::pow(b.u, count) - std::pow(a.u, count)) +
           slope * count / (count + 1) * (std::pow(b.u, count + 1) - std::pow(a.u, count + 1));
  }
  return sum;
}

Distribution Distribution::spread_by(double factor) const {
  const double middle = mean();
  std::vector<Knot> knots = knots_;
  for (Knot& knot : knots) knot.value = middle + factor * (knot.value - middle);
  return Distribution(std::move(knots));
}

}  // namespace rueda::predict
