#pragma once

#include "record/json_parts.hpp"

// What an epoch's element of run.json and its line in a checkpoint's history
// have in common.

namespace rueda {

/// Of an epoch in a checkpoint's history, and not in run.json.
inline constexpr const char* kHistorySums = "sums";

inline double watt_hours_of(const Energy& e) { return e.total() / 3600; }
inline double joules_per_image(const Energy& e) { return e.total() / e.images; }
inline double images_per_joule(const Energy& e) { return e.images / e.gpus; }

/// NaN and infinity are null in the text.
inline const std::tuple kEnergyFields{
    NanField{"joules", &Energy::gpus},          NanField{"host_joules", &Energy::hosts},
    Field{"total_joules", &Energy::total},      Field{"includes", &Energy::includes},
    Field{"watt_hours", watt_hours_of},         Field{"joules_per_image", joules_per_image},
    Field{"images_per_joule", images_per_joule}};

}  // namespace rueda
