#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "base/core_time.hpp"
#include "commands/doctor/facts.hpp"

namespace rueda::doctor {
namespace {

/// Far below what any network between the hosts of a machine room has: half of 1 Gbit/s, and what
/// light takes for 100 km of cable and back.
constexpr double kLeastGbPerSecond = 0.0625;
constexpr double kMostLatencyUs = 1000;

/// Two links are the two ways between the same hosts.
constexpr std::size_t kEnoughLinks = 3;
constexpr double kSlower = 2;       ///< times, below the best link's bandwidth
constexpr double kLater = 4;        ///< times the best link's latency
constexpr double kLateFromUs = 50;  ///< what differs below is noise

/// Messages from a rank to the next one, which is on another host.
struct HostLink {
  std::string from;
  std::string to;
  LinkFacts speed;
};

bool gets_its_cores(const RankFacts& rank) {
  return rank.cores.share >= 1 - 1e-9 && !is_disturbed(rank.cores.got);
}

/// Those between ranks that get their cores: messages of others say nothing of a network.
std::vector<HostLink> links_between_hosts(const Ranks& ranks) {
  std::vector<HostLink> links;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankFacts &from = ranks[r], &to = ranks[(r + 1) % ranks.size()];
    const bool measured = from.host_link.gb_per_second > 0;
    if (measured && from.host != to.host && gets_its_cores(from) && gets_its_cores(to))
      links.push_back({from.host, to.host, from.host_link});
  }
  return links;
}

/// The most GB/s and the least latency that a link has.
LinkFacts best_of(const std::vector<HostLink>& links) {
  LinkFacts best = links[0].speed;
  for (const HostLink& link : links) {
    best.gb_per_second = std::max(best.gb_per_second, link.speed.gb_per_second);
    best.latency_us = std::min(best.latency_us, link.speed.latency_us);
  }
  return best;
}

/// The host that all links have in common; empty: none, or a single link, which has two.
std::string common_host(const std::vector<HostLink>& links) {
  if (links.size() < 2) return "";
  for (const std::string& host : {links[0].from, links[0].to}) {
    const auto has = [&](const HostLink& link) { return link.from == host || link.to == host; };
    if (std::ranges::all_of(links, has)) return host;
  }
  return "";
}

std::string text_of_links(const std::vector<HostLink>& links) {
  std::vector<std::string> texts;
  for (const HostLink& link : links)
    texts.push_back(fmt::format("from {} to {} ({:.3g} GB/s, {:.3g} us)", link.from, link.to,
                                link.speed.gb_per_second, link.speed.latency_us));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string without(const ClusterFacts& cluster, const std::string& host) {
  std::string name = host.empty() ? "HOST" : host;
  if (cluster.ranks.front().launch.in_slurm)
    return fmt::format("#SBATCH --exclude={}  until its port and cable have been looked at", name);
  return fmt::format("mpirun --host  without {}, until its port and cable have been looked at",
                     name);
}

/// Links that are slower than the best one of this run.
Finding find_slow_links(const ClusterFacts& cluster, const std::vector<HostLink>& links) {
  if (links.size() < kEnoughLinks) return {};
  const LinkFacts best = best_of(links);
  const double late = std::max(kLater * best.latency_us, kLateFromUs);
  std::vector<HostLink> slow;
  for (const HostLink& link : links) {
    if (kSlower * link.speed.gb_per_second < best.gb_per_second || link.speed.latency_us > late)
      slow.push_back(link);
  }
  if (slow.empty()) return {};
  const std::string host = common_host(slow);
  std::string what = fmt::format(
      "messages {} are slower than on the best link between hosts ({:.3g} "
      "GB/s, {:.3g} us): a ring is as fast as its slowest link",
      text_of_links(slow), best.gb_per_second, best.latency_us);
  if (!host.empty()) what += fmt::format("; all of them are from or to {}", host);
  return {.what = what, .change = without(cluster, host)};
}

/// A network that is slow as a whole.
Finding find_slow_network(const std::vector<HostLink>& links) {
  if (links.empty()) return {};
  const LinkFacts best = best_of(links);
  if (best.gb_per_second >= kLeastGbPerSecond && best.latency_us <= kMostLatencyUs) return {};
  return {.what = fmt::format("a message between hosts takes at least {:.0f} us and reaches at "
                              "most {:.3g} GB/s ({}): sums of gradients will take long",
                              best.latency_us, best.gb_per_second, counted(links.size(), "link")),
          .change =
              "mpirun --mca btl_tcp_if_include NETWORK/BITS  of the fastest network that "
              "joins the hosts (ip -brief address shows them)"};
}

}  // namespace

void find_in_links(const ClusterFacts& cluster, Findings& findings) {
  const auto links = links_between_hosts(cluster.ranks);
  findings.push_back(find_slow_links(cluster, links));
  findings.push_back(find_slow_network(links));
}

}  // namespace rueda::doctor
