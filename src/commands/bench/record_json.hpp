#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "record.hpp"

namespace rueda::bench {

/// The record as docs/bench.md describes it: one JSON object.
std::string record_json(const Record& record);

/// What it and a table of `tune` say of their scene.
nlohmann::ordered_json scene_json(const Scene& scene);

/// Rounded to nanoseconds, so that files stay short.
nlohmann::ordered_json seconds_json(const Seconds& seconds);

}  // namespace rueda::bench
