#pragma once

#include <string>

#include "facts.hpp"
#include "findings.hpp"

namespace rueda::doctor {

/// All tables but the transfer's, for a page of 80 columns.
std::string machine_report(const ClusterFacts& cluster);

/// The transfer, the findings, the verdict.
std::string outcome_report(const ClusterFacts& cluster, const Findings& findings);

/// What the transfer's line says, also before there is one.
std::string transfer_line(const ClusterFacts& cluster);

// Two parts of machine_report.
std::string ranks_section(const ClusterFacts& cluster);
std::string links_section(const ClusterFacts& cluster);

}  // namespace rueda::doctor
