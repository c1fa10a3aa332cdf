#include "run/wiring/device_choice.hpp"

#include <map>
#include <utility>

#include "base/log.hpp"
#include "cuda/device/device_query.hpp"
#include "launch/gpu_place.hpp"
#include "launch/launcher.hpp"
#include "run/wiring/open_backend.hpp"

namespace rueda {

#if RUEDA_WITH_CUDA
SelectedDevice select_device(BackendChoice backend) {
  SelectedDevice selected;
  try {
    if (!wants_cuda(backend)) return selected;
    const auto devices = cuda_devices().visible;
    if (devices.empty()) return selected;  // open_backend says why
    const DeviceChoice choice =
        choose_device(launcher_local_rank(environment_variable), has_peers(), int(devices.size()));
    open_cuda_device(choice.ordinal);
    selected.uuid = devices.at(std::size_t(choice.ordinal)).uuid;
    selected.remark = choice.remark;
  } catch (...) {
    selected.failure = std::current_exception();
  }
  return selected;
}
#else
SelectedDevice select_device(BackendChoice) { return {}; }
#endif

std::string shared_devices(const std::vector<RankPlace>& ranks) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> users;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].uuid.empty()) users[{ranks[rank].host, ranks[rank].uuid}].push_back(rank);
  std::string text;
  for (const auto& [place, of_place] : users) {
    if (of_place.size() < 2) continue;
    text += (text.empty() ? "" : "; ") + rank_list(of_place) + " on " + place.second + " of " +
            place.first;
  }
  return text;
}

void check_shared_devices(RankGroup& group, const RankPlace& mine, bool allowed) {
  const auto hosts = all_gather_text(group, mine.host);
  const auto uuids = all_gather_text(group, mine.uuid);
  std::vector<RankPlace> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    ranks.push_back({hosts[rank], uuids[rank]});
  const std::string shared = shared_devices(ranks);
  if (shared.empty()) return;
  require_agreed(allowed, "ranks share a GPU: " + shared +
                              "; start fewer ranks per node, ask for more GPUs (--gres=gpu:N), or "
                              "say --allow-shared-gpu");
  log(LogLevel::info, "ranks share a GPU, and its speed: " + shared);
}

}  // namespace rueda
