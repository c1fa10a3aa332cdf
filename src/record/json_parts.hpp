#pragma once

#include <nlohmann/json.hpp>

#include "rueda/record/statistics.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Keeps the order in which fields were written, which is the order that a person reads.
using Json = nlohmann::ordered_json;

/// On one line, or indented. Bytes that are not UTF-8 become U+FFFD.
std::string text_of(const Json& j, int indent = -1);

/// {min, mean, max}.
Json range_json(const Spread& spread);
/// {count, min, mean, median, p90, max, deviation}.
Json spread_json(const Spread& spread);
/// Name to seconds.
Json phases_json(const PhaseSeconds& phases);

/// The options, by their names on the command line and in its words.
Json config_json(const TrainConfig& config);
/// One element of `epochs`.
Json epoch_json(const EpochRecord& epoch, const RunRecord& run);

/// Its text, on one line.
SharedText epoch_text(const EpochRecord& epoch, const RunRecord& run);

/// `resumptions`.
Json resumptions_json(const RunRecord& run);
/// The object `summary`.
Json summary_json(const RunRecord& run);

}  // namespace rueda
