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

/// Whether the rank has a GPU of its own: ranks that take turns on one measure the turns.
bool has_own_gpu(const Ranks& ranks, const RankFacts& rank) {
  const std::string gpu = gpu_of(rank);
  return !gpu.empty() && std::ranges::count(ranks, gpu, gpu_of) == 1;
}

/// Messages from a GPU to the next rank's on the same host, beside what two copies through the host
/// reach.
struct GpuLink {
  int from = 0;
  int to = 0;
  double message = 0;  ///< GB/s
  double copies = 0;   ///< GB/s, of the slower of the two ranks

  /// A straight message crosses the bus of a GPU once, or not at all. One through the host takes
  /// both copies and more; only where it overlaps them in pieces it is faster, and then no matter.
  bool seems_staged() const { return message <= copies; }
};

/// Those of which both figures are known, between ranks with cores and a GPU of their own.
std::vector<GpuLink> links_between_gpus(const ClusterFacts& cluster) {
  std::vector<GpuLink> links;
  const Ranks& ranks = cluster.ranks;
  if (cluster.transfers.size() != ranks.size()) return links;
  const auto is_alone = [&](const RankFacts& rank) {
    return gets_its_cores(rank) && has_own_gpu(ranks, rank);
  };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::size_t next = (r + 1) % ranks.size();
    const TransferFacts &one = cluster.transfers[r], &other = cluster.transfers[next];
    const double copies = std::min(one.two_copies_gb_per_second, other.two_copies_gb_per_second);
    if (!one.device || one.link.gb_per_second <= 0 || copies <= 0) continue;
    if (ranks[r].host == ranks[next].host && is_alone(ranks[r]) && is_alone(ranks[next]))
      links.push_back({int(r), int(next), one.link.gb_per_second, copies});
  }
  return links;
}

/// MPI that copies GPU memory through the host without a word, as Open MPI 5 does without UCX. One
/// that calls itself not CUDA-aware gets no GPU memory.
Finding find_silent_staging(const ClusterFacts& cluster) {
  const auto links = links_between_gpus(cluster);
  const auto staged = std::size_t(std::ranges::count_if(links, &GpuLink::seems_staged));
  if (staged == 0 || !cluster.ranks.front().awareness.aware) return {};
  const auto part = [](const GpuLink& link) { return link.message / link.copies; };
  const GpuLink worst = *std::ranges::min_element(links, {}, part);
  return {
      .what = fmt::format(
          "messages straight from GPU memory reach {:.3g} GB/s from rank {} to rank {}, no more "
          "than two copies, to the host and back up, one after the other ({:.3g} GB/s): MPI "
          "seems to copy GPU memory through the host, on {} of {} between GPUs of one host",
          worst.message, worst.from, worst.to, worst.copies, staged, counted(links.size(), "link")),
      .change =
          "module load an MPI with UCX, or Open MPI 4.1 (btl smcuda); rueda train --all-reduce "
          "shared needs no messages, --transport staged copies in pieces"};
}

}  // namespace

void find_in_links(const ClusterFacts& cluster, Findings& findings) {
  const auto links = links_between_hosts(cluster.ranks);
  findings.push_back(find_slow_links(cluster, links));
  findings.push_back(find_slow_network(links));
  findings.push_back(find_silent_staging(cluster));
}

}  // namespace rueda::doctor
