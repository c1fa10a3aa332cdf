#pragma once

#include "study/tables/point_table.hpp"

namespace rueda {

/// Seconds of an epoch that its steps waited for data; NaN where that was not measured.
double loading_of(const PointFigures& figures);

/// The layout `nyu` (layout_tables).
Tables nyu_layout(const StudyFigures& all);

/// Its questions 1 and 4, which are about single runs: nyu_question_1, nyu_question_4.
Tables nyu_run_tables(const StudyFigures& all);

}  // namespace rueda
