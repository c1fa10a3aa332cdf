#include "run_lines.hpp"

#include <algorithm>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kWidestRanges = 12;
constexpr std::size_t kWidestHost = 24;

constexpr std::size_t kUuidStart = 12;  // "GPU-8f2c0001": enough to distinguish the GPUs of a run

/// Ranks that share a line, in order; the first stands for all.
struct Group {
  std::vector<const RankInfo*> members;
  const RankInfo& first() const { return *members.front(); }
};

bool same_kind(const RankInfo& a, const RankInfo& b) {
  return a.backend == b.backend && a.device == b.device && a.threads == b.threads &&
         a.cores == b.cores;
}

/// Puts every rank into the first group whose first member is `alike`.
template <typename Alike>
std::vector<Group> grouped(const std::vector<RankInfo>& ranks, Alike alike) {
  std::vector<Group> groups;
  for (const RankInfo& rank : ranks) {
    const auto fits = [&](const Group& g) { return alike(g.first(), rank); };
    auto at = std::find_if(groups.begin(), groups.end(), fits);
    if (at == groups.end()) at = groups.insert(at, Group{});
    at->members.push_back(&rank);
  }
  return groups;
}

std::vector<Group> lines_of(const std::vector<RankInfo>& ranks) {
  if (ranks.size() <= kMostLines) {
    return grouped(ranks, [](const RankInfo&, const RankInfo&) { return false; });
  }
  std::vector<Group> groups = grouped(ranks, [](const RankInfo& a, const RankInfo& b) {
    return a.host == b.host && same_kind(a, b);
  });
  return groups.size() <= kMostLines ? groups : grouped(ranks, same_kind);
}

std::string numbers(const Group& group, int RankInfo::*member) {
  std::set<int> values;
  for (const RankInfo* rank : group.members) values.insert(rank->*member);
  const std::string text = ranges_text({values.begin(), values.end()});
  return text.size() <= kWidestRanges ? text : fmt::format("{} of them", values.size());
}

std::string hosts(const Group& group) {
  std::set<std::string> names;
  for (const RankInfo* rank : group.members) names.insert(rank->host);
  if (names.size() > 1) return fmt::format("{} hosts", names.size());
  const std::string& name = *names.begin();
  if (name.size() <= kWidestHost) return name;
  // Both ends stay: some names end with a number, others begin with it.
  constexpr std::size_t kEnd = (kWidestHost - 2) / 2;
  return name.substr(0, kEnd) + ".." + name.substr(name.size() - kEnd);
}

/// The cell of the device column: the name unless it is `named` elsewhere, and the GPU of a single
/// rank.
std::string device_text(const Group& group, bool named) {
  const std::string uuid =
      group.members.size() == 1 ? group.first().uuid.substr(0, kUuidStart) : "";
  if (named) return uuid;
  return uuid + (uuid.empty() ? "" : " ") + group.first().device;
}

}  // namespace

bool same_device(const std::vector<RankInfo>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const RankInfo& r) { return r.device == ranks.front().device; });
}

std::string rank_lines(const std::vector<RankInfo>& ranks, std::size_t indent) {
  TextTable table({Align::right, Align::left, Align::right, Align::left, Align::right, Align::right,
                   Align::left},
                  indent);
  const bool named = same_device(ranks);
  const auto groups = lines_of(ranks);
  const bool shown = std::any_of(groups.begin(), groups.end(),
                                 [&](const Group& g) { return !device_text(g, named).empty(); });
  table.add({"rank", "host", "local", "backend", "threads", "cores", shown ? "device" : ""});
  for (const Group& group : groups) {
    const RankInfo& r = group.first();
    table.add({numbers(group, &RankInfo::rank), hosts(group), numbers(group, &RankInfo::local_rank),
               r.backend, std::to_string(r.threads), fmt::format("{:.4g}", r.cores),
               device_text(group, named)});
  }
  return table.text();
}

std::size_t host_count(const std::vector<RankInfo>& ranks) {
  std::set<std::string> names;
  for (const RankInfo& rank : ranks) names.insert(rank.host);
  return names.size();
}

std::string input_mode_text(const TrainConfig& config) {
  if (config.input == InputMode::resident) return "resident: the device makes each batch";
  if (config.input_workers == 0) return "stream: the thread that trains prepares each batch";
  return "stream: batches prepared by " + counted(config.input_workers, "host thread") +
         " of each rank";
}

std::string timed_text(const RunRecord& run) {
  const TimedCompute& t = run.timed.value();
  std::string text = fmt::format("NOTHING IS COMPUTED (--backend timed): each rank waits {:.4g} ms",
                                 t.seconds * 1e3);
  if (t.jitter_percent > 0) text += fmt::format(" +- {} %", setting_text(t.jitter_percent));
  text += fmt::format(" for forward and backward of {}", counted(t.images, "image"));
  if (!t.recorded_in.empty()) text += ", as recorded in " + t.recorded_in;
  return text + "; communication is real, parameters stay as they are, and there is no loss";
}

}  // namespace rueda
