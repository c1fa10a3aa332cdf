#pragma once

#include <cstddef>
#include <string>

#include "study/figures.hpp"

namespace rueda {

/// What the homework derives of one batch on P ranks; seconds of an epoch. NaN where there was no
/// run on one rank, or nothing is known.
struct NyuFigures {
  double one_rank = kUnknown;   ///< T(1), everything included
  double loading = kUnknown;    ///< of this, exposed loading of data; NaN if that was not told
  double time = kUnknown;       ///< T(P)
  double compute = kUnknown;    ///< (T(1) - loading) / P; T(1) / P without `loading`
  double inferred = kUnknown;   ///< communication: T(P) - compute
  double measured = kUnknown;   ///< inside the all-reduce
  double exposed = kUnknown;    ///< what steps waited for it
  double steps = kUnknown;      ///< of an epoch: all-reduces of a whole gradient
  double bytes = kUnknown;      ///< of a gradient
  double bandwidth = kUnknown;  ///< GB/s, from `inferred`; NaN if that is not above 0
  double busbw = kUnknown;      ///< GB/s, measured
};

NyuFigures nyu_figures(const SeriesFigures& series, const PointFigures& point);

/// Those of an fp32 gradient of a network by its name for 10 classes; NaN for an unknown one.
double gradient_bytes(const std::string& model);

}  // namespace rueda
