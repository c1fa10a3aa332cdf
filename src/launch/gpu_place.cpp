#include "launch/gpu_place.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/text.hpp"

namespace rueda {
namespace {

struct PciGpu {
  std::string uuid;
  std::string model;
  std::vector<int> near;  ///< processors of its NUMA node; empty: unknown
};

/// Lines such as "Device Minor: \t 2" of a file of NVIDIA's driver.
std::map<std::string, std::string> driver_facts(const std::filesystem::path& file) {
  std::map<std::string, std::string> facts;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t value = line.find_first_not_of(": \t", colon);
    if (value != line.npos) facts[line.substr(0, colon)] = line.substr(value);
  }
  return facts;
}

std::vector<int> near_processors(const std::filesystem::path& device) {
  int node = -1;
  if (!(std::ifstream(device / "numa_node") >> node) || node < 0) return {};
  return processors_in(device / "local_cpulist");
}

/// Those that this process may open, which a control group can forbid, in the order of their
/// addresses.
std::vector<PciGpu> openable_gpus(const std::filesystem::path& root) {
  std::set<std::filesystem::path> folders;
  std::error_code error;
  const std::filesystem::directory_iterator listed(root / "proc/driver/nvidia/gpus", error);
  for (auto entry = begin(listed); !error && entry != end(listed); entry.increment(error))
    folders.insert(entry->path());
  std::vector<PciGpu> gpus;
  for (const auto& folder : folders) {
    auto facts = driver_facts(folder / "information");
    const auto file = root / "dev" / ("nvidia" + facts["Device Minor"]);
    if (facts["GPU Excluded"] == "Yes" || access(file.c_str(), R_OK | W_OK) != 0) continue;
    gpus.push_back({facts["GPU UUID"], facts["Model"],
                    near_processors(root / "sys/bus/pci/devices" / folder.filename())});
  }
  return gpus;
}

/// The values that words of `launch` give to a variable.
std::set<std::string> values_in(const std::string& launch, const std::string& variable) {
  std::set<std::string> values;
  for (auto word : split_words<std::string_view>(launch, '\0'))
    if (take(word, variable + "=")) values.emplace(word);
  return values;
}

/// Whether the words of `launch` choose a device that is no GPU.
bool leaves_gpus(const std::string& launch) {
  for (const std::string& joint : {std::string("="), std::string(1, '\0')})
    for (const std::string& device : {"cpu", "timed"})
      if (launch.find("--backend" + joint + device + '\0') != launch.npos) return true;
  return false;
}

/// Whether a word of CUDA_VISIBLE_DEVICES, a number or the beginning of a UUID, means GPU `index`.
bool names_gpu(std::string_view word, const std::vector<PciGpu>& gpus, std::size_t index) {
  if (word.starts_with("GPU-")) return gpus[index].uuid.starts_with(word);
  const auto number = take_number(word);
  return word.empty() && number == index;
}

/// Those that CUDA_VISIBLE_DEVICES shows: as CUDA does, up to the first word that names none, or
/// more than one.
std::vector<PciGpu> visible_gpus(const std::vector<PciGpu>& gpus, const std::string& variable) {
  std::vector<PciGpu> visible;
  for (const std::string& word : split_words(variable)) {
    std::vector<PciGpu> named;
    for (std::size_t i = 0; i < gpus.size(); ++i)
      if (names_gpu(word, gpus, i)) named.push_back(gpus[i]);
    if (named.size() != 1) break;
    visible.push_back(named.front());
  }
  return visible;
}

}  // namespace

DeviceChoice choose_device(std::optional<int> local_rank, bool has_peers, int visible) {
  if (visible == 1) return {};
  if (local_rank) return {*local_rank % visible, ""};
  if (!has_peers) return {};
  return {0,
          "the launcher does not say which number this rank has on its node, so it takes the first "
          "of " +
              std::to_string(visible) +
              " GPUs; start with mpirun or srun, or show each rank one GPU by "
              "CUDA_VISIBLE_DEVICES"};
}

ProcessorLists near_gpus(const std::filesystem::path& root, const std::string& launch,
                         std::size_t ranks) {
  ProcessorLists near(ranks);
  if (leaves_gpus(launch)) return near;
  auto gpus = openable_gpus(root);
  std::set<std::string> models;
  for (const PciGpu& gpu : gpus) models.insert(gpu.model);
  // CUDA puts the fastest first unless told otherwise; equal ones come by their addresses.
  const bool by_address =
      values_in(launch, "CUDA_DEVICE_ORDER") == std::set<std::string>{"PCI_BUS_ID"};
  const auto shown = values_in(launch, "CUDA_VISIBLE_DEVICES");
  if ((models.size() > 1 && !by_address) || shown.size() > 1) return near;
  if (!shown.empty()) gpus = visible_gpus(gpus, *shown.begin());
  if (gpus.empty()) return near;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const DeviceChoice choice = choose_device(int(rank), true, int(gpus.size()));
    near[rank] = gpus[std::size_t(choice.ordinal)].near;
  }
  return near;
}

}  // namespace rueda
