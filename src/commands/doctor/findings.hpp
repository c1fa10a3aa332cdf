#pragma once

#include <string>
#include <utility>
#include <vector>

#include "facts.hpp"

namespace rueda::doctor {

enum class Severity {
  remark,  ///< training works, but slower or otherwise than it could
  fault,   ///< training will not work
};

/// One thing to know, and the line to change.
struct Finding {
  Severity severity = Severity::remark;
  std::string what;
  std::string change;
};

using Findings = std::vector<Finding>;

inline void add(Findings& findings, Severity severity, std::string what, std::string change) {
  findings.push_back({severity, std::move(what), std::move(change)});
}

/// All findings of a run; faults come first. A pure function of the facts.
Findings all_findings(const ClusterFacts& cluster);

// Its parts, each on one subject.
void find_in_progress(const ClusterFacts& cluster, Findings& findings);
void find_in_launch(const ClusterFacts& cluster, Findings& findings);
void find_in_versions(const ClusterFacts& cluster, Findings& findings);
void find_in_cores(const ClusterFacts& cluster, Findings& findings);
void find_in_devices(const ClusterFacts& cluster, Findings& findings);
void find_in_transfers(const ClusterFacts& cluster, Findings& findings);
void find_in_data(const ClusterFacts& cluster, Findings& findings);

/// "ok", "works with remarks" or "will not work".
std::string verdict(const Findings& findings);
bool works(const Findings& findings);

}  // namespace rueda::doctor
