#include "shared_device_check.hpp"

#include <map>
#include <utility>

#include "rueda/reduce/rank_group.hpp"

namespace rueda {
std::string shared_devices(const std::vector<RankPlace>& ranks) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> users;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].uuid.empty()) users[{ranks[rank].host, ranks[rank].uuid}].push_back(rank);
  }
  std::string text;
  for (const auto& [place, of_place] : users) {
    if (of_place.size() < 2) continue;
    text += (text.empty() ? "" : "; ") + rank_list(of_place) + " on " + place.second + " of " +
            place.first;
  }
  return text;
}

std::string check_shared_devices(RankGroup& group, const RankPlace& mine, bool allowed) {
  const auto hosts = all_gather_text(group, mine.host);
  const auto uuids = all_gather_text(group, mine.uuid);
  std::vector<RankPlace> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    ranks.push_back({hosts[rank], uuids[rank]});
  }
  const std::string shared = shared_devices(ranks);
  if (shared.empty()) return "";
  if (!allowed) {
    throw_agreed(ExitCode::bad_input,
                 "ranks share a GPU: " + shared +
                     "; start fewer ranks per node, ask for more GPUs (--gres=gpu:N), or say "
                     "--allow-shared-gpu");
  }
  return group.rank() == 0 ? "ranks share a GPU, and its speed: " + shared : "";
}

}  // namespace rueda
