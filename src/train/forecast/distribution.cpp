#include "train/forecast/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace rueda::cost {

Distribution::Distribution(Knots knots)
    : shared_(std::make_shared<Shared>(Shared{std::move(knots), {}})) {}

Distribution Distribution::of_sample(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("a distribution of no values");
  if (values.size() == 1) return Distribution(values.front());
  std::sort(values.begin(), values.end());
  Knots knots;
  for (const double value : values)
    knots.push_back({double(knots.size()) / double(values.size() - 1), value});
  return Distribution(std::move(knots));
}

Distribution Distribution::of_spread(const Spread& spread) {
  if (spread.count == 0) throw std::invalid_argument("a distribution of no values");
  return Distribution(
      Knots{{0, spread.min}, {0.5, spread.median}, {0.9, spread.p90}, {1, spread.max}});
}

double Distribution::quantile(double u) const {
  const Knots& knots = shared_->knots;
  const auto above = std::ranges::upper_bound(knots.begin() + 1, knots.end() - 1, u, {}, &Knot::u);
  const Knot& to = *above;
  const Knot& from = *(above - 1);
  return from.value + (to.value - from.value) * (u - from.u) / (to.u - from.u);
}

double Distribution::share_below(double value) const {
  const Knots& knots = shared_->knots;
  if (value >= knots.back().value) return 1;
  const auto above = std::ranges::upper_bound(knots, value, {}, &Knot::value);
  if (above == knots.begin()) return 0;
  const Knot& to = *above;
  const Knot& from = *(above - 1);
  return from.u + (to.u - from.u) * (value - from.value) / (to.value - from.value);
}

double Distribution::expected_max(double count) const {
  const auto [found, is_new] = shared_->maxima.try_emplace(count, 0);
  if (is_new) found->second = integrate_max(count);
  return found->second;
}

double Distribution::integrate_max(double count) const {
  const Knots& knots = shared_->knots;
  double sum = 0;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const Knot& a = knots[i - 1];
    const Knot& b = knots[i];
    const double slope = (b.value - a.value) / (b.u - a.u);
    sum += (a.value - slope * a.u) * (std::pow(b.u, count) - std::pow(a.u, count)) +
           slope * count / (count + 1) * (std::pow(b.u, count + 1) - std::pow(a.u, count + 1));
  }
  return sum;
}

Distribution Distribution::spread_by(double factor) const {
  const double middle = mean();
  Knots knots = shared_->knots;
  for (Knot& knot : knots) knot.value = middle + factor * (knot.value - middle);
  return Distribution(std::move(knots));
}

}  // namespace rueda::cost
