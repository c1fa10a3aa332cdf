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

/// `text` without control characters but line ends: file names and drivers may hold any.
std::string clean(std::string text);

// Parts of machine_report.
std::string launch_section(const RankFacts& first, std::size_t hosts);
std::string ranks_section(const ClusterFacts& cluster);
std::string devices_section(const ClusterFacts& cluster);
std::string links_section(const ClusterFacts& cluster);
std::string batches_section(const ClusterFacts& cluster);
std::string data_section(const ClusterFacts& cluster);

}  // namespace rueda::doctor
