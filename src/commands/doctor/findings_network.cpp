#include <set>

#include <fmt/ranges.h>

#include "commands/doctor/facts.hpp"

namespace rueda::doctor {
namespace {

using Networks = std::map<std::string, Interfaces>;

/// The networks of all hosts. Two names of one machine, which have all addresses alike, count once.
Networks networks_of(const ClusterFacts& cluster) {
  Networks all;
  for (const auto& [host, facts] : known_hosts(cluster)) all.emplace(host, facts.network);
  std::vector<Interfaces> seen;
  std::erase_if(all, [&seen](const auto& entry) {
    if (entry.second.empty() || std::ranges::find(seen, entry.second) != seen.end()) return true;
    seen.push_back(entry.second);
    return false;
  });
  return all;
}

/// Where an address is: hosts, and what its interfaces are called there.
struct Places {
  std::vector<std::string> hosts;
  std::set<std::string> names;
};

bool has_way(const NetworkInterface& one) { return one.up && !one.loopback; }

/// Addresses that more than one host has.
std::map<std::string, Places> shared_places(const Networks& networks) {
  std::map<std::string, Places> places;
  for (const auto& [host, interfaces] : networks) {
    for (const NetworkInterface& one : interfaces) {
      if (!has_way(one)) continue;
      places[one.address].hosts.push_back(host);
      places[one.address].names.insert(one.name);
    }
  }
  std::erase_if(places, [](const auto& entry) { return entry.second.hosts.size() < 2; });
  return places;
}

/// "docker0 (container) on hb0": interfaces by which no other host of a run is reached, as a rule.
std::vector<std::string> doubtful(const Networks& networks) {
  std::vector<std::string> found;
  for (const auto& [host, interfaces] : networks) {
    for (const NetworkInterface& one : interfaces) {
      const std::string_view kind = one.up ? virtual_kind(one.name) : "down";
      if (!kind.empty() && !one.loopback)
        found.push_back(fmt::format("{} ({}) on {}", printable(one.name), kind, host));
    }
  }
  return found;
}

/// Whether each host keeps an interface without those of these names.
bool leaves_a_way(const Networks& networks, const std::set<std::string>& without) {
  for (const auto& [host, interfaces] : networks) {
    bool left = false;
    for (const NetworkInterface& one : interfaces)
      left = left || (has_way(one) && !without.contains(one.name));
    if (!left) return false;
  }
  return true;
}

/// The interfaces that MPI is to leave alone: the shared ones, and those of
/// containers and VPNs, as long as every host keeps one.
std::set<std::string> to_exclude(const Networks& networks) {
  std::set<std::string> names;
  for (const auto& [address, places] : shared_places(networks))
    names.insert(places.names.begin(), places.names.end());
  std::set<std::string> more = names;
  for (const auto& [host, interfaces] : networks) {
    for (const NetworkInterface& one : interfaces)
      if (one.up && !virtual_kind(one.name).empty()) more.insert(one.name);
  }
  if (leaves_a_way(networks, more)) return more;
  if (leaves_a_way(networks, names)) return names;
  return {};
}

/// The line for mpirun and for srun. Open MPI's own list, which this replaces, has the loopback.
std::string exclusion(const Networks& networks) {
  const std::set<std::string> names = to_exclude(networks);
  if (names.empty())
    return "give each host an address of its own, or name the network that joins them: mpirun "
           "--mca btl_tcp_if_include NETWORK/BITS";
  std::set<std::string> loopbacks;
  for (const auto& [host, interfaces] : networks)
    for (const NetworkInterface& one : interfaces)
      if (one.loopback) loopbacks.insert(one.name);
  std::vector<std::string> all(loopbacks.begin(), loopbacks.end());
  all.insert(all.end(), names.begin(), names.end());
  const std::string list = printable(fmt::format("{}", fmt::join(all, ",")));
  return fmt::format(
      "mpirun --mca btl_tcp_if_exclude {0} ...  (srun: export OMPI_MCA_btl_tcp_if_exclude={0})",
      list);
}

bool chooses_interfaces(const ClusterFacts& cluster) {
  return !cluster.ranks.empty() &&
         !settings_like("^OMPI_MCA_btl_tcp_if_", cluster.ranks.front().launch).what.empty();
}

}  // namespace

std::vector<std::string> shared_addresses(const ClusterFacts& cluster) {
  std::vector<std::string> texts;
  for (const auto& [address, places] : shared_places(networks_of(cluster))) {
    texts.push_back(fmt::format("{} ({}) on {}", printable(address),
                                printable(fmt::format("{}", fmt::join(places.names, ", "))),
                                fmt::join(places.hosts, ", ")));
  }
  return texts;
}

void find_in_network(const ClusterFacts& cluster, Findings& findings) {
  const Networks networks = networks_of(cluster);
  const bool failed = !cluster.progress.trouble.empty();
  if (networks.size() < 2 || (!failed && chooses_interfaces(cluster))) return;
  std::string others;
  if (failed) others = fmt::format("{}", fmt::join(doubtful(networks), ", "));
  const auto shared = shared_addresses(cluster);
  if (!shared.empty()) {
    std::string what = fmt::format(
        "hosts have one and the same address: {}. MPI may take it for a way between them, and then "
        "waits without end",
        fmt::join(shared, "; "));
    if (!others.empty()) what += ". Down, or of containers or VPNs: " + others;
    findings.push_back({failed ? Severity::fault : Severity::remark, what, exclusion(networks)});
  } else if (!others.empty()) {
    findings.push_back(
        {Severity::remark,
         "interfaces that may lead nowhere (down, or of containers or VPNs): " + others,
         exclusion(networks)});
  }
}

}  // namespace rueda::doctor
