#pragma once

#include <string>

#include "findings.hpp"

namespace rueda::doctor {

/// All tables but the transfer's, for a page of 80 columns.
std::string machine_report(const ClusterFacts& cluster);

/// The transfer, the findings, the verdict.
std::string outcome_report(const ClusterFacts& cluster, const Findings& findings);

/// What --json writes: the verdict, the findings, and all facts.
std::string report_json(const ClusterFacts& cluster, const Findings& findings);

}  // namespace rueda::doctor
