#pragma once

#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "reference_ops.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::test {

inline double norm(const Vector& all, const Parameter& p) {
  double s = 0;
  for (std::size_t i = p.offset; i < p.offset + p.count; ++i) s += all[i] * all[i];
  return std::sqrt(s);
}

inline std::string layer_of(const Parameter& p) { return p.name.substr(0, p.name.rfind('.')); }

/// The size of a layer's gradients. One parameter's own would not do: that of a bias in front of a
/// batch norm is zero but for rounding.
inline double layer_norm(const Graph& graph, const Vector& all, const Parameter& of) {
  double s = 0;
  for (const Parameter& p : graph.parameters()) {
    if (layer_of(p) == layer_of(of)) s = std::hypot(s, norm(all, p));
  }
  return s;
}

/// Every parameter's gradient is within `tolerance`, as a fraction of its layer's. Both are in the
/// order of the parameter arena; `actual` may be longer.
inline void check_gradients(const Graph& graph, const Vector& actual, const Vector& expected,
                            double tolerance) {
  Vector difference(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) difference[i] = actual[i] - expected[i];
  for (const Parameter& p : graph.parameters()) {
    CAPTURE(p.name);
    const double scale = layer_norm(graph, expected, p);
    CHECK(scale > 1e-4);
    CHECK(norm(difference, p) < tolerance * scale);
  }
}

}  // namespace rueda::test
