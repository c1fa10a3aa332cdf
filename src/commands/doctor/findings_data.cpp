#include <algorithm>
#include <numeric>

#include <spdlog/fmt/fmt.h>

#include "findings.hpp"
#include "rank_sets.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda::doctor {
namespace {

void find_unreadable(const ClusterFacts& cluster, Findings& findings) {
  const auto failures =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.data.failure; });
  for (const auto& [failure, ranks] : failures) {
    findings.push_back(
        {Severity::fault,
         fmt::format("--data {}: {} cannot read it: {}", cluster.data,
                     ranks_text(ranks, cluster.ranks.size()), failure),
         "--data DIR  that every host sees, with the files as they were downloaded"});
  }
}

void find_differing(const ClusterFacts& cluster, Findings& findings) {
  const auto prints =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.data.fingerprint; });
  if (prints.size() < 2) return;
  std::string text;
  for (const auto& entry : prints) {
    text += (text.empty() ? "" : " / ") + ranks_text(entry.second, cluster.ranks.size());
  }
  findings.push_back({Severity::fault,
                      fmt::format("--data {}: ranks read different images: {}", cluster.data, text),
                      "copy one data set to all hosts, or give the path of one that all share"});
}

std::size_t total(const ClassCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

/// Says nothing of sets that are smaller on purpose, but for classes that they lack.
void find_uneven(const RankFacts& rank, const char* split, const ClassCounts& counts,
                 std::size_t official, Findings& findings) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const bool official_size = total(counts) == official;
  if (*least == *most || (!official_size && *least > 0)) return;
  const auto name_of = [&](const std::size_t* at) {
    const auto index = static_cast<std::size_t>(at - counts.begin());
    return index < rank.data.class_names.size() ? rank.data.class_names[index]
                                                : std::to_string(index);
  };
  findings.push_back(
      {official_size ? Severity::fault : Severity::remark,
       fmt::format(
           "the {} set has {} images of class {} and {} of {}{}", split, *least, name_of(least),
           *most, name_of(most),
           official_size ? fmt::format(", CIFAR-10 has {} of each", official / counts.size()) : ""),
       "download the set again: https://www.cs.toronto.edu/~kriz/cifar.html"});
}

void find_remarks(const RankFacts& rank, Findings& findings) {
  for (const std::string& remark : rank.data.remarks) {
    findings.push_back({Severity::remark, "data: " + remark,
                        "none if it is meant; else --data DIR of the whole set"});
  }
}

}  // namespace

void find_in_data(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.data.empty() || cluster.ranks.empty()) return;
  find_unreadable(cluster, findings);
  find_differing(cluster, findings);
  const auto reader =
      std::find_if(cluster.ranks.begin(), cluster.ranks.end(),
                   [](const RankFacts& rank) { return !rank.data.fingerprint.empty(); });
  if (reader == cluster.ranks.end()) return;
  find_uneven(*reader, "training", reader->data.train_per_class, kOfficialTrainImages, findings);
  find_uneven(*reader, "test", reader->data.test_per_class, kOfficialTestImages, findings);
  find_remarks(*reader, findings);
}

}  // namespace rueda::doctor
