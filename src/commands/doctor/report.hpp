#pragma once

#include <string>
#include <vector>

#include "facts.hpp"

namespace rueda::doctor {

enum class Severity {
  remark,  ///< training works, but slower or otherwise than it could
  fault,   ///< training will not work
};
NLOHMANN_JSON_SERIALIZE_ENUM(Severity, {{Severity::remark, "remark"}, {Severity::fault, "fault"}})

/// One thing to know, and the line to change.
struct Finding {
  Severity severity = Severity::remark;
  std::string what;
  std::string change;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, severity, what, change)

using Findings = std::vector<Finding>;

/// All findings of a run; faults come first. A pure function of the facts.
Findings all_findings(const ClusterFacts& cluster);

/// "ok", "works with remarks" or "will not work".
std::string verdict(const Findings& findings);
bool works(const Findings& findings);

/// All tables but the transfer's, for a page of 80 columns.
std::string machine_report(const ClusterFacts& cluster);

/// The transfer, the findings, the verdict.
std::string outcome_report(const ClusterFacts& cluster, const Findings& findings);

/// What --json writes: the verdict, the findings, and all facts.
std::string report_json(const ClusterFacts& cluster, const Findings& findings);

/// For each text that ranks have: `what` with {0} for these ranks, {1} for the text.
void add_for_ranks(const ClusterFacts& cluster, Findings& findings, Severity severity,
                   const char* what, const std::string& change, const TextOfRank& text);

// Parts of all_findings, of a run that has facts of ranks.
void find_in_devices(const ClusterFacts& cluster, Findings& findings);
void find_in_cores(const ClusterFacts& cluster, Findings& findings);

}  // namespace rueda::doctor
