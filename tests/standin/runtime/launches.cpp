#include <mutex>
#include <utility>

#include "runtime.hpp"

namespace rueda {
namespace {

struct Notes {
  std::mutex mutex;
  bool open = false;
  bool runs = true;
  std::vector<std::shared_ptr<StandinLaunch>> launches;
};

Notes& notes() {
  static auto& it = *new Notes;
  return it;
}

}  // namespace

void standin_note_launches(bool runs) {
  const std::lock_guard lock(notes().mutex);
  notes().open = true;
  notes().runs = runs;
}

bool standin::kernels_run() {
  const std::lock_guard lock(notes().mutex);
  return !notes().open || notes().runs;
}

std::vector<StandinLaunch> standin_take_launches() {
  const std::lock_guard lock(notes().mutex);
  notes().open = false;
  std::vector<StandinLaunch> taken;
  for (const auto& launch : std::exchange(notes().launches, {})) taken.push_back(*launch);
  return taken;
}

std::shared_ptr<StandinLaunch> standin::note_launch(StandinLaunch launch) {
  const std::lock_guard lock(notes().mutex);
  if (!notes().open) return nullptr;
  notes().launches.push_back(std::make_shared<StandinLaunch>(std::move(launch)));
  return notes().launches.back();
}

}  // namespace rueda
