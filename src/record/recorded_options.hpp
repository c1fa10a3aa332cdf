#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rueda {

/// The options of an earlier run, as its run.json or its checkpoint recorded
/// them, by today's names: what several options said before may be one option
/// now. An option that was removed stays if the run used it.
nlohmann::ordered_json recorded_options(const nlohmann::ordered_json& config);

}  // namespace rueda
