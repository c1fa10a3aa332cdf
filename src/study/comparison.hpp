#pragma once

#include <array>
#include <string>

#include "study/observation.hpp"
#include "study/table.hpp"

namespace rueda {

/// A difference of single runs below this share is not determined: without
/// repeats nobody knows how far two runs of the same settings differ.
inline constexpr double kSingleRunsDiffer = 0.05;

/// A and B. Both have an epoch.
using RunPair = std::array<const RunResult*, 2>;

/// Two runs, one against the other. They have to outlive it.
struct Comparison {
  RunPair runs{};
  Texts findings = {};
  Tables tables = {};
};

Comparison compare(const RunResult& a, const RunResult& b);

/// For a terminal: the sentences, what differs, and the phases.
std::string comparison_text(const Comparison& comparison);

// What its tables and its sentences are made of.

/// comparison_settings (those that differ), comparison_runs (what both took
/// and reached), comparison_steps (a mean full step, phase by phase).
Tables comparison_tables(const RunPair& runs);

/// Seconds of each phase of a mean full step, mean over ranks; they add up to it.
PhaseSeconds full_step_phases(const RunResult& run);
double sum_of_phases(const PhaseSeconds& phases);

/// Images a second in the steady epochs: of the median one, the slowest and the fastest.
Estimate steady_rate(const RunResult& run);

/// "64", "63 to 64": images of a rank in a full step.
std::string rank_batch_text(const RunResult& run);

/// "A is runs/one, B is runs/two."
std::string which_is_which(const RunPair& runs);

}  // namespace rueda
